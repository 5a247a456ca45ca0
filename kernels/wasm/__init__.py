"""Lane programs as WebAssembly, for pages that simulate in the browser; with the bits of the processor's kernel."""
