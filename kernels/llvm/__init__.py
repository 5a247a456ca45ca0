"""The LLVM backend for the processor's vector units: emitter, step loop, compiler and kernel."""
