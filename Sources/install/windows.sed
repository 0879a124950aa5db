# What windows.mk changes in the compiler's intermediate language (LLVM's) for no system, so that it is for Windows.
s/^target triple = .*/target triple = "x86_64-w64-windows-gnu"/
# How names are written in object files.
s/^target datalayout = "e-m:e-/target datalayout = "e-m:w-/
# What ELF alone has.
s/^define protected /define /
# Each function says how it is unwound: to the system one that does not has no frame.
s/^attributes #[0-9]* = {/& uwtable/
