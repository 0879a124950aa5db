# make dist     what a release consists of, in build/dist, for each line of install/targets.txt that can be built here
#               (two cores: seven minutes). It first says which tools are missing, and prints a line for each step
# make dist TARGETS='x86-64 arm64'   for these alone: x86-64 takes a minute
# make oldest   the shared library once more, linked for glibc $(OLDEST_GLIBC) and newer ones: $(BUILD)/oldest/lib
#
# The same commit gives the same bytes, wherever and whenever it is built.

OLDEST_GLIBC = 2.31
OLDEST = $(BUILD)/oldest
TARGETS ?=

.PHONY: dist oldest
oldest: library
	mkdir -p $(OLDEST)/lib
	cp -p $(OBJECTS) $(OLDEST)
	rm -f $(OLDEST)/libchime.whole
	sh install/older_glibc.sh '$(CC)' $(OLDEST_GLIBC) $(OLDEST)/glibc
	$(MAKE) TARGET=$(TARGET) BUILD=$(OLDEST) LDFLAGS='$(LDFLAGS) -L$(OLDEST)/glibc $(OLDEST)/glibc/older_glibc.o -Wl,--no-as-needed,-lpthread,-ldl' library

dist:
	@TARGETS='$(TARGETS)' python3 install/dist $(TARGETS)
