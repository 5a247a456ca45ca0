"""Lane programs as LLVM code: emitter, step loop, compiler, and the kernel of the processor's vector units."""
