# Colonnade -- one Makefile.  `make demo` and `make check` are all a newcomer needs.
#
# Objects mirror the sources under $(BUILD).  Each room of common/ is one static library; a program or test
# links its own layer and those below.  The sanitizer targets call this same file with another BUILD.
# SPDX-License-Identifier: Apache-2.0

BUILD   ?= build
PREFIX  ?= /usr/local
VERSION := 0.1.0
CC      ?= gcc

WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch-enum -Wvla -Wstrict-prototypes \
        -Wmissing-prototypes -Wformat=2
ifdef CI
WARN += -Werror
endif
OPT      ?= -O3
HARDEN   := -fstack-protector-strong -fPIE
ifeq ($(SANITIZE)$(FUZZ),)
HARDEN   += -D_FORTIFY_SOURCE=2
endif
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
CFLAGS   := -std=c11 -D_GNU_SOURCE -g $(OPT) -fno-math-errno $(HARDEN) $(SANFLAGS) -I. -I$(BUILD)/gen \
            -DVFL_VERSION='"$(VERSION)"' $(EXTRA_CFLAGS)
LDFLAGS  := -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(SANFLAGS)
LDLIBS   := -lssl -lcrypto -luv -lprotobuf-c -lyaml -ljansson -lsqlite3 -lopenblas -lz -lm -lpthread

# Rooms from the top layer to the bottom: also the link order.
ROOMS := flow secagg wire net pbm privacy nn data config metrics crypto base

SRC_OF = $(filter-out %_avx512.c,$(wildcard common/$(1)/*.c)) $(wildcard common/$(1)/*_avx512.c)
OBJ_OF = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

GEN       := $(BUILD)/gen/proto/vfl.pb-c.c
SERVER_C  := $(filter-out server/main.c server/loop.c,$(wildcard server/*.c))
PARTY_C   := $(filter-out party/main.c party/loop.c,$(wildcard party/*.c))
TOOLS     := $(patsubst deploy/tools/%.c,$(BUILD)/bin/vfl-%,$(wildcard deploy/tools/*.c))
UNIT      := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/*/test_*.c))
SIM       := $(patsubst tests/sim/%.c,$(BUILD)/tests/sim/%,$(wildcard tests/sim/test_*.c))
SIM_LIB   := $(call OBJ_OF,$(filter-out $(wildcard tests/sim/test_*.c),$(wildcard tests/sim/*.c)))
TEST_LIB  := $(call OBJ_OF,$(wildcard tests/lib/*.c))
FUZZERS   := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH     := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/bench_*.c))
LIBS      := $(foreach r,$(ROOMS),$(BUILD)/lib/lib$(r).a)
PROGRAMS  := $(BUILD)/bin/vfl-server $(BUILD)/bin/vfl-party

.PHONY: all demo check check-unit check-sim check-e2e check-source check-fuzz asan ubsan tsan fuzz bench \
        fmt install clean setup deps
.SECONDARY:
.DELETE_ON_ERROR:

all: $(PROGRAMS) $(TOOLS)

# --- objects and libraries ---------------------------------------------------------------------------

$(BUILD)/gen/proto/vfl.pb-c.c: proto/vfl.proto
	@mkdir -p $(BUILD)/gen
	protoc-c --c_out=$(BUILD)/gen $<

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -w -MMD -MP -c $< -o $@

$(call OBJ_OF,$(wildcard common/wire/*.c tests/unit/wire/*.c tests/fuzz/*.c)): | $(GEN)

# Only kernels with their own instruction set; they are chosen at run time.
$(BUILD)/obj/%_avx512.o: %_avx512.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN) -MMD -MP -c $< -o $@

define room_rule
$(BUILD)/lib/lib$(1).a: $(call OBJ_OF,$(call SRC_OF,$(1))) $(if $(filter wire,$(1)),$(BUILD)/obj/gen/proto/vfl.pb-c.o)
	@mkdir -p $$(@D)
	rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

$(BUILD)/lib/libserver.a: $(call OBJ_OF,$(SERVER_C))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/lib/libparty.a: $(call OBJ_OF,$(PARTY_C))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^

# --- programs ----------------------------------------------------------------------------------------

$(BUILD)/bin/vfl-server: $(call OBJ_OF,server/main.c server/loop.c) $(BUILD)/lib/libserver.a $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/bin/vfl-party: $(call OBJ_OF,party/main.c party/loop.c) $(BUILD)/lib/libparty.a $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/bin/vfl-%: $(BUILD)/obj/deploy/tools/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# --- tests -------------------------------------------------------------------------------------------
# tests/unit/ROOM/test_x.c links ROOM and every room below it, nothing else of ours.

LAYERS := flow|secagg wire net|pbm privacy nn data|config metrics crypto|base
# rooms_from ROOM: ROOM itself, then all rooms of lower layers.
rooms_from = $(shell echo '$(LAYERS)' | tr '|' '\n' | awk -v r=$(1) \
    '{ if (hit) out = out " " $$0; for (i = 1; i <= NF; i++) if ($$i == r) hit = 1 } END { print r out }')

define unit_rule
$(BUILD)/tests/unit/$(1)/test_%: $(BUILD)/obj/tests/unit/$(1)/test_%.o $(TEST_LIB) \
        $(foreach r,$(call rooms_from,$(1)),$(BUILD)/lib/lib$(r).a)
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(LDLIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call unit_rule,$(r))))

$(BUILD)/tests/sim/test_%: $(BUILD)/obj/tests/sim/test_%.o $(SIM_LIB) $(TEST_LIB) \
        $(BUILD)/lib/libserver.a $(BUILD)/lib/libparty.a $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(BUILD)/tests/bench/bench_%: $(BUILD)/obj/tests/bench/bench_%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(BENCH_LIBS_$*) $(LDLIBS)

check-unit: $(UNIT)
	@tests/lib/run.sh $(UNIT)
check-sim: $(SIM)
	@tests/lib/run.sh $(SIM)

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
