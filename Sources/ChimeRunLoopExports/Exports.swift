// How libchime is linked, and nothing else: the linker settings of this target, with exports.map beside this file, apply
// to what contains it. They are kept out of ChimeC because the test programs contain that, and a program whose symbols
// are hidden hides the sanitizers' too.
