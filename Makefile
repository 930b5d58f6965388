# Colonnade -- one Makefile.  `make demo` and `make check` are all a newcomer needs.
#
# Objects mirror the sources under $(BUILD).  Each room of common/ is one static library; a program
# or test links its own layer and those below.  The sanitizer, fuzz and coverage targets call this
# same file with another BUILD.
# SPDX-License-Identifier: Apache-2.0

BUILD   ?= build
PREFIX  ?= /usr/local
VERSION := 0.1.0
ifeq ($(origin CC),default)
CC      := gcc
endif
# All processors, unless -j says otherwise; whole commands only with V=1.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null)
endif
MAKEFLAGS += --no-print-directory
say = $(if $(V),,@echo '$(1)' &&)

# --- packages (Debian 12) -------------------------------------------------------------------------

PACKAGES := gcc libc6-dev libuv1-dev libprotobuf-c-dev protobuf-c-compiler libssl-dev \
            libsodium-dev libdecaf-dev libopenblas-dev libyaml-dev libjansson-dev libsqlite3-dev \
            libmicrohttpd-dev zlib1g-dev libutf8proc-dev libzstd-dev libpq-dev unixodbc-dev
TEST_PACKAGES  := libcmocka-dev openssl procps python3 python3-numpy iproute2 nftables gnuplot-nox \
                  postgresql libsqliteodbc
FUZZ_PACKAGES  := clang libclang-rt-dev
VALGRIND_PACKAGES := valgrind
BENCH_PACKAGES := libgsl-dev libflint-dev python3-grpcio python3-torch

# --- flags ----------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch-enum -Wvla -Wstrict-prototypes \
        -Wmissing-prototypes -Wformat=2
WERROR   := $(if $(CI),-Werror)
# Instrumented code makes compilers warn of what they have put in themselves.
INSTRUMENTED := $(SANITIZE)$(FUZZ)$(COVER)
ifneq ($(INSTRUMENTED),)
WARN     := -w
endif
OPT      ?= -O3
HARDEN   := -fstack-protector-strong -fPIE $(if $(INSTRUMENTED),,-D_FORTIFY_SOURCE=2)
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
            -fno-omit-frame-pointer) $(if $(FUZZ),-fsanitize=fuzzer-no-link) \
            $(if $(COVER),--coverage)
CFLAGS   := -std=c11 -D_GNU_SOURCE -g $(OPT) -fno-math-errno $(HARDEN) $(SANFLAGS) -I. \
            -I$(BUILD)/gen -isystem /usr/include/decaf -DVFL_VERSION='"$(VERSION)"' $(EXTRA_CFLAGS)
LDFLAGS  := -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(SANFLAGS)
LDLIBS   := -lssl -lcrypto -lsodium -ldecaf -luv -lprotobuf-c -lyaml -ljansson -lsqlite3 \
            -lutf8proc -lmicrohttpd -lopenblas -lz -lzstd -lpq -lodbc -lm -lpthread
BENCH_LIBS_gauss := -lgsl -lgslcblas
BENCH_LIBS_pbm := -lgsl -lgslcblas
BENCH_LIBS_fmatmul := -lflint

# --- what there is --------------------------------------------------------------------------------

# The rooms of common/ from the top layer to the bottom, '|' between layers: the link order, and the
# law that `make check-source` proves.
LAYERS := reactor | daemon | flow | secagg wire net http | privacy onnx program | \
          pbm gauss nn data compress align lcc | config metrics crypto field | base
ROOMS  := $(foreach r,$(filter-out |,$(LAYERS)),$(if $(wildcard common/$(r)/*.c),$(r)))
# rooms_from ROOM: ROOM itself, then all rooms of lower layers.
rooms_from = $(filter $(ROOMS),$(shell echo '$(LAYERS)' | tr '|' '\n' | awk -v r=$(1) \
    '{ if (hit) out = out " " $$0; for (i = 1; i <= NF; i++) if ($$i == r) hit = 1 } \
     END { print r out }'))
OBJ_OF  = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB_OF  = $(foreach r,$(1),$(BUILD)/lib/lib$(r).a)

GEN       := $(patsubst proto/%.proto,$(BUILD)/gen/proto/%.pb-c,$(wildcard proto/*.proto))
SERVER_C  := $(filter-out server/main.c server/loop.c,$(wildcard server/*.c server/*/*.c))
PARTY_C   := $(filter-out party/main.c party/loop.c,$(wildcard party/*.c party/*/*.c))
LIBS      := $(call LIB_OF,$(ROOMS))
PROGRAMS  := $(BUILD)/bin/vfl-server $(BUILD)/bin/vfl-party
TOOLS     := $(patsubst deploy/tools/%.c,$(BUILD)/bin/vfl-%,$(wildcard deploy/tools/*.c))
UNIT      := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/*/test_*.c))
SIM       := $(patsubst tests/sim/%.c,$(BUILD)/tests/sim/%,$(wildcard tests/sim/test_*.c))
SIM_LIB   := $(call OBJ_OF,$(filter-out $(wildcard tests/sim/test_*.c),$(wildcard tests/sim/*.c)) \
    tests/unit/program/speaker.c)
PAIRS     := $(patsubst tests/interference/%.c,$(BUILD)/tests/interference/%, \
    $(wildcard tests/interference/test_*.c))
PAIRS_OBJ := $(call OBJ_OF,$(filter-out $(wildcard tests/interference/test_*.c), \
    $(wildcard tests/interference/*.c)))
FUZZERS   := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAYS   := $(patsubst $(BUILD)/tests/fuzz/fuzz_%,$(BUILD)/tests/fuzz/replay_%,$(FUZZERS))
BENCH     := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/bench_*.c))
BENCH_SCRIPTS := $(wildcard tests/bench/bench_*.py tests/bench/bench_*.sh)
E2E       := $(wildcard tests/e2e/test_*.sh)
WATCHED   := $(patsubst tests/valgrind/%.c,$(BUILD)/tests/valgrind/%, \
    $(wildcard tests/valgrind/test_*.c))
FAULTS    := $(BUILD)/tests/lib/disk_faults.so
SOURCE    := tests/check/check_source.py tests/check/test_check_source.sh tests/fuzz/test_run.sh

# Under a sanitizer all simulations and scripts take an hour; SAMPLE=1 takes of them those in which
# bytes of peers, deaths, threads and the end of memory meet the most code.
SAMPLE_SIM := abuse align chaos coded crash fedvs_lies flips full_round hostile larger \
    misbehave_bytes misbehave_field misbehave_replay open predict_deaths restore sequences serve \
    shortage standing
SAMPLE_E2E := align chaos fedvs predict refusals serve standing tables
# Those in which daemons have workers at work.
SAMPLE_THREADS := chaos coded fedvs predict serve standing
CHECKED_SIM := $(if $(SAMPLE),$(SAMPLE_SIM:%=$(BUILD)/tests/sim/test_%),$(SIM))
CHECKED_E2E := $(if $(SAMPLE),$(SAMPLE_E2E:%=tests/e2e/test_%.sh),$(E2E))
THREADS_E2E := $(if $(SAMPLE),$(SAMPLE_THREADS:%=tests/e2e/test_%.sh),$(E2E))

.PHONY: all demo check check-unit check-sim check-e2e check-source check-fuzz check-programs \
        check-threads durability shortage interference asan ubsan tsan valgrind run-watched \
        run-memcheck fuzz run-fuzz mutants cover bench fmt install uninstall clean setup
.SECONDARY:
.DELETE_ON_ERROR:

all: $(PROGRAMS) $(TOOLS)

# Packages come first when the goal promises a fresh machine, and are nobody's business otherwise.
SETUP := $(if $(filter demo check setup,$(MAKECMDGOALS)),setup)

# Two notes that change only when their text does: other flags rebuild everything, and a source that
# came or went rebuilds the libraries.
FLAGS_NOW   := $(CC) $(CFLAGS) $(WARN)
SOURCES_NOW := $(wildcard common/*/*.c server/*.c server/*/*.c party/*.c party/*/*.c tests/lib/*.c \
    tests/sim/*.c)
ifneq ($(filter-out clean fmt uninstall,$(or $(MAKECMDGOALS),all)),)
ifneq ($(strip $(file <$(BUILD)/flags)),$(strip $(FLAGS_NOW)))
$(shell mkdir -p $(BUILD))
$(file >$(BUILD)/flags,$(FLAGS_NOW))
endif
ifneq ($(strip $(file <$(BUILD)/sources)),$(strip $(SOURCES_NOW)))
$(file >$(BUILD)/sources,$(SOURCES_NOW))
endif
endif

# --- objects and libraries ------------------------------------------------------------------------

$(BUILD)/gen/proto/%.pb-c.c $(BUILD)/gen/proto/%.pb-c.h: proto/%.proto | $(SETUP)
	@mkdir -p $(BUILD)/gen
	$(call say,protoc $<) protoc-c --c_out=$(BUILD)/gen $<

# Generated code is exempt from the warnings.
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags | $(SETUP)
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(CFLAGS) -w -MMD -MP -c $< -o $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(GEN:%=%.h) $(SETUP)
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(CFLAGS) $(WARN) $(WERROR) -MMD -MP -c $< -o $@

$(foreach r,$(ROOMS),$(eval $(BUILD)/lib/lib$(r).a: $(call OBJ_OF,$(wildcard common/$(r)/*.c))))
$(BUILD)/lib/libonnx.a: $(BUILD)/obj/gen/proto/onnx.pb-c.o
$(BUILD)/lib/libwire.a: $(BUILD)/obj/gen/proto/vfl.pb-c.o
$(BUILD)/lib/libserver.a: $(call OBJ_OF,$(SERVER_C))
$(BUILD)/lib/libparty.a: $(call OBJ_OF,$(PARTY_C))
$(BUILD)/lib/libtests.a: $(call OBJ_OF,$(filter-out %/fuzz_replay.c %/disk_faults.c, \
    $(wildcard tests/lib/*.c)))
$(BUILD)/lib/%.a: $(BUILD)/sources
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,ar $@) ar rcs $@ $(filter %.o,$^)

LINK = $(call say,link $@) mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ \
       $(filter %.o,$^) $(filter %.a,$^)

# --- programs -------------------------------------------------------------------------------------

$(BUILD)/bin/vfl-server: $(call OBJ_OF,server/main.c server/loop.c) $(BUILD)/lib/libserver.a $(LIBS)
	$(LINK) $(LDLIBS)
$(BUILD)/bin/vfl-party: $(call OBJ_OF,party/main.c party/loop.c) $(BUILD)/lib/libparty.a $(LIBS)
	$(LINK) $(LDLIBS)
$(BUILD)/bin/vfl-%: $(BUILD)/obj/deploy/tools/%.o $(LIBS)
	$(LINK) $(LDLIBS)
# The parts of a tool that is more than one file stand in a folder of its name.
$(foreach t,$(wildcard deploy/tools/*/),$(eval $(t:deploy/tools/%/=$(BUILD)/bin/vfl-%): \
    $(call OBJ_OF,$(wildcard $(t)*.c))))
# Both say what a run had spent at an evaluation.
$(BUILD)/bin/vfl-report: $(BUILD)/obj/deploy/tools/grid/epsilon.o
# Both read tables.
$(BUILD)/bin/vfl-contribution: $(call OBJ_OF,$(addprefix deploy/tools/report/,sheet.c pool.c))

demo: setup all
	deploy/vfl cluster --parties 4

# --- tests ----------------------------------------------------------------------------------------
# tests/unit/ROOM/test_x.c links ROOM and every room below it, nothing else of ours.

# Hundreds of programs: gold links one in half the time.
GOLD := $(if $(FUZZ),,$(if $(shell command -v ld.gold),-fuse-ld=gold))
$(BUILD)/tests/%: private LDFLAGS += $(GOLD)
# No outcome is a matter of chance: tests/lib/draws.c stands in for the system's generator.
DRAWS := -Wl,-u,RAND_bytes

define unit_rule
$(BUILD)/tests/unit/$(1)/test_%: $(BUILD)/obj/tests/unit/$(1)/test_%.o \
        $(call OBJ_OF,$(filter-out tests/unit/$(1)/test_%,$(wildcard tests/unit/$(1)/*.c))) \
        $(BUILD)/lib/libtests.a $(call LIB_OF,$(call rooms_from,$(1)))
	$$(LINK) $$(DRAWS) -lcmocka $$(LDLIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call unit_rule,$(r))))

$(BUILD)/tests/sim/test_%: $(BUILD)/obj/tests/sim/test_%.o $(SIM_LIB) $(BUILD)/lib/libtests.a \
        $(BUILD)/lib/libserver.a $(BUILD)/lib/libparty.a $(LIBS)
	$(LINK) $(DRAWS) -lcmocka $(LDLIBS)
# Thousands of small runs: signatures and key agreement are stand-ins there (fast_crypto.h).
FAST_CRYPTO := $(patsubst %,$(BUILD)/tests/sim/test_%,chaos crash crash_local misbehave_bytes \
    misbehave_field misbehave_phase misbehave_plan misbehave_replay misbehave_share flips standing \
    predict_deaths open sequences align_deaths align_hostile \
    align_random align_keys)
FAST_WRAPS := $(foreach \
    f,sign_key_generate sign_make sign_check kex_generate kex_derive equality_begin equality_end \
    equality_is_element,-Wl,--wrap=$(f))
$(FAST_CRYPTO): private LDFLAGS += $(FAST_WRAPS)
# And points there, which are numbers (fast_group.c).
$(BUILD)/tests/sim/test_align_deaths $(BUILD)/tests/sim/test_align_random \
$(BUILD)/tests/sim/test_align_keys $(BUILD)/tests/interference/test_keyed: private LDFLAGS += \
    $(foreach f,hash scalar scalar_hash scalar_add_product is_point raise raise_base sum \
    subtract,-Wl,--wrap=group_$(f))
FAST_FUZZ := confirm federation hello offer party saved server
$(FAST_FUZZ:%=$(BUILD)/tests/fuzz/fuzz_%) $(FAST_FUZZ:%=$(BUILD)/tests/fuzz/replay_%): \
    private LDFLAGS += $(FAST_WRAPS) -Wl,--wrap=rng_init_system,-u,__wrap_sign_check
# Somebody deviates there (deviate.h).
$(BUILD)/tests/sim/test_align_hostile: private LDFLAGS += $(foreach \
    f,align_member_gives align_member_tally share_seal align_match_tell align_match_places \
    align_match_common,-Wl,--wrap=$(f))
# All keys and points are seen there.
$(BUILD)/tests/sim/test_align_guesses: private LDFLAGS += $(foreach \
    f,tally_key_init align_member_new align_member_take align_match_put,-Wl,--wrap=$(f))
# Memory is short in a session, not in the world around it.
$(BUILD)/tests/sim/test_shortage: private LDFLAGS += $(foreach \
    f,server_session_step server_session_work party_session_step party_session_work disk_recall \
    disk_holdings world_pack,-Wl,--wrap=$(f))
# A disk that fails.
$(BUILD)/tests/sim/test_queue: private LDFLAGS += -Wl,--wrap=file_write_atomic
$(BUILD)/tests/interference/test_%: $(BUILD)/obj/tests/interference/test_%.o $(PAIRS_OBJ) \
        $(SIM_LIB) $(BUILD)/lib/libtests.a $(BUILD)/lib/libserver.a $(BUILD)/lib/libparty.a \
        $(LIBS)
	$(LINK) $(DRAWS) -lcmocka $(LDLIBS)
# What the server says there is a script: tests/interference/hostile.h.
$(PAIRS): private LDFLAGS += $(FAST_WRAPS) $(foreach \
    f,rng_init_system secagg_combine secagg_show server_head_evaluate server_head_train \
    server_head_pack server_head_show server_trainer_best,-Wl,--wrap=$(f))
SCRIPTED := $(foreach t,party saved server, \
    $(BUILD)/tests/fuzz/fuzz_$(t) $(BUILD)/tests/fuzz/replay_$(t))
$(SCRIPTED): private LDFLAGS += $(foreach \
    f,party_session_step server_session_step server_session_new,-Wl,--wrap=$(f))
$(BUILD)/lib/libsim.a: $(SIM_LIB)
FUZZ_LIBS := $(patsubst %,$(BUILD)/lib/lib%.a,sim server party tests) $(LIBS)
$(BUILD)/tests/fuzz/fuzz_transcript $(BUILD)/tests/fuzz/replay_transcript: \
    $(BUILD)/obj/deploy/tools/audit/seen.o $(BUILD)/obj/deploy/tools/audit/colluder.o
$(BUILD)/tests/fuzz/replay_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o \
        $(BUILD)/obj/tests/lib/fuzz_replay.o $(FUZZ_LIBS)
	$(LINK) -lcmocka $(LDLIBS)
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(FUZZ_LIBS)
	$(LINK) -fsanitize=fuzzer -lcmocka $(LDLIBS)
$(BUILD)/tests/bench/bench_%: $(BUILD)/obj/tests/bench/bench_%.o $(BUILD)/lib/libtests.a \
        $(BUILD)/lib/libparty.a $(LIBS)
	$(LINK) $(BENCH_LIBS_$*) $(LDLIBS)

$(BUILD)/tests/valgrind/test_%: $(BUILD)/obj/tests/valgrind/test_%.o $(BUILD)/lib/libtests.a $(LIBS)
	$(LINK) -lcmocka $(LDLIBS)

# Preloaded into daemons; not instrumented, since it stands before what a sanitizer would put in.
$(FAULTS): tests/lib/disk_faults.c $(BUILD)/flags | $(SETUP)
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) -std=c11 -D_GNU_SOURCE -g -O2 -fPIC -shared $(WARN) $(WERROR) -o $@ $<

# The scripts find the programs under test by VFL_BIN, everything else by its place in the tree.
ENVIRONMENT := VFL_BIN='$(abspath $(BUILD)/bin)' DISK_FAULTS_SO='$(abspath $(FAULTS))'
RUN := $(ENVIRONMENT) tests/lib/run.sh

check: setup all $(UNIT) $(SIM) $(PAIRS) $(REPLAYS) $(FAULTS)
	@$(RUN) $(UNIT) $(SIM) $(PAIRS) $(REPLAYS) $(E2E) $(SOURCE)
check-unit: $(UNIT)
	@$(RUN) $(UNIT)
check-sim: $(SIM)
	@$(RUN) $(SIM)
check-fuzz: $(REPLAYS)
	@$(RUN) $(REPLAYS)
check-programs: all $(UNIT) $(CHECKED_SIM) $(PAIRS) $(REPLAYS) $(FAULTS)
	@$(RUN) $(UNIT) $(CHECKED_SIM) $(PAIRS) $(REPLAYS) $(CHECKED_E2E)
check-e2e: all $(FAULTS)
	@$(RUN) $(E2E)
# Every durable call in every mode, where the tests take a sample.
durability: all $(FAULTS)
	@DURABILITY_EVERY=1 $(ENVIRONMENT) tests/e2e/test_durability.sh
# Every allocation of whole runs failed once, where the test takes a sample of OpenSSL's.
shortage: $(BUILD)/tests/sim/test_shortage
	@TEST_EVERY=1 $<
# Pairs of runs on neighbours, other ones each time, as many as there is time for.
INTERFERENCE_SECONDS ?= 3600
INTERFERENCE_FIRST   ?= $(shell date +%s)000000
interference: $(PAIRS)
	@for p in $(PAIRS); do $$p --first $(INTERFERENCE_FIRST) \
	    --seconds $$(($(INTERFERENCE_SECONDS) / $(words $(PAIRS)))) || exit 1; done
check-source:
	@$(RUN) $(SOURCE)

# ThreadSanitizer of gcc 12 maps no memory where the kernel randomises more than it knows of.
SANE = $(shell setarch -R true 2>/dev/null && echo setarch -R)
# Addresses and undefined behaviour in one build; ubsan is for who wants the latter alone.
asan:
	ASAN_OPTIONS=strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	    $(MAKE) BUILD=$(BUILD)/asan SANITIZE=address,undefined OPT=-O1 check-programs
ubsan:
	UBSAN_OPTIONS=print_stacktrace=1 \
	    $(MAKE) BUILD=$(BUILD)/ubsan SANITIZE=undefined OPT=-O1 check-programs
tsan:
	OPENBLAS_NUM_THREADS=1 TSAN_OPTIONS=second_deadlock_stack=1 \
	    $(SANE) $(MAKE) BUILD=$(BUILD)/tsan SANITIZE=thread OPT=-O1 check-threads
# What has more than one thread: the daemons, with their workers, and the loops under them.
# Sessions and all that they are made of know no threads.
THREADED := $(filter $(foreach r,net daemon align,$(BUILD)/tests/unit/$(r)/%) \
    $(BUILD)/tests/unit/base/test_parallel,$(UNIT))
check-threads: all $(THREADED) $(FAULTS)
	@$(RUN) $(THREADED) $(THREADS_E2E)

# Under valgrind: that no secret decides a branch or an address (tests/valgrind, which count its
# complaints), then the unit tests that are quick there, to whom it may say nothing.
valgrind:
	@$(call install_packages,$(PACKAGES) $(TEST_PACKAGES) $(VALGRIND_PACKAGES))
	$(MAKE) BUILD=$(BUILD)/valgrind EXTRA_CFLAGS=-DSECRETS_WATCHED run-watched run-memcheck
	$(MAKE) BUILD=$(BUILD)/valgrind/plain \
	    EXTRA_CFLAGS='-DSECRETS_WATCHED -DWIDE_CLONES_OFF' run-watched
MEMCHECK := valgrind -q --child-silent-after-fork=yes
run-watched: $(WATCHED)
	@UNDER='$(MEMCHECK)' $(RUN) $(WATCHED)
# Rooms that read bytes of peers or hold keys; valgrind shows a program that replaces itself, and
# its processor computes with subnormal numbers whatever it is told.
UNIT_QUICK := $(filter-out %/base/test_process %/base/test_subnormal, \
    $(filter $(foreach r,base crypto wire,$(BUILD)/tests/unit/$(r)/%),$(UNIT)))
run-memcheck: $(UNIT_QUICK)
	@UNDER='$(MEMCHECK) --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite' \
	    $(RUN) $(UNIT_QUICK)

# New inputs for each target, found by libFuzzer; what the tree keeps of them is not touched.
FUZZ_SECONDS ?= 30
FUZZ_TARGETS ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz:
	@$(call install_packages,$(PACKAGES) $(FUZZ_PACKAGES))
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang FUZZ=1 SANITIZE=address,undefined OPT=-O1 CI= run-fuzz
run-fuzz: $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/fuzz_%)
	@tests/fuzz/run.sh $(BUILD) $(FUZZ_SECONDS) $^

# Bugs planted one after another, each of which some test has to see (tests/mutants/README.md).
mutants:
	@$(call install_packages,$(PACKAGES) $(TEST_PACKAGES) $(VALGRIND_PACKAGES))
	@BUILD='$(BUILD)' tests/mutants/run.py

# Lines of our own rooms and daemons that the tests reach.
cover:
	@find $(BUILD)/cover -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) BUILD=$(BUILD)/cover COVER=1 OPT=-O0 check-programs; code=$$?; \
	tests/check/cover.sh $(BUILD)/cover; exit $$code

bench:
	@$(call install_packages,$(PACKAGES) $(BENCH_PACKAGES))
	@$(MAKE) run-bench
run-bench: all $(BENCH)
	@for b in $(BENCH) $(BENCH_SCRIPTS); do \
	    echo "--- $${b##*/}"; VFL_BIN='$(abspath $(BUILD)/bin)' $$b || exit 1; \
	done

fmt:
	clang-format -i $$(find common server party deploy tests -name '*.[ch]' ! -path 'tests/golden/*')

# --- machine --------------------------------------------------------------------------------------

# install_packages LIST: silent when nothing is missing.
define install_packages
	command -v dpkg-query >/dev/null || { echo 'no Debian: needs what these hold: $(1)'; exit 0; }; \
	missing=$$(for p in $(1); do \
	    dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; \
	done | tr '\n' ' '); \
	[ -n "$$missing" ] || exit 0; \
	as=; [ "$$(id -u)" = 0 ] || as=sudo; \
	if [ -n "$$as" ] && ! command -v sudo >/dev/null; then \
	    echo "some packages are missing; as root: apt-get install $$missing" >&2; exit 1; \
	fi; \
	echo "installing $$missing"; \
	apt() { $$as env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$$@"; }; \
	apt update && apt install -y --no-install-recommends $$missing
endef

setup:
	@$(call install_packages,$(PACKAGES) $(TEST_PACKAGES))

SHARE = $(DESTDIR)$(PREFIX)/share/colonnade
MAN   = $(DESTDIR)$(PREFIX)/share/man
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd/system
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/sh $(SHARE)/examples $(SHARE)/data $(SHARE)/systemd
	install $(PROGRAMS) $(TOOLS) deploy/vfl $(DESTDIR)$(PREFIX)/bin
	install -m 644 deploy/sh/*.sh $(SHARE)/sh
	install -d $(SHARE)/python/colonnade $(SHARE)/python/examples
	install -m 644 deploy/python/colonnade/*.py $(SHARE)/python/colonnade
	install -m 644 deploy/python/examples/*.py $(SHARE)/python/examples
	install -m 644 deploy/examples/*.yaml $(SHARE)/examples
	install -m 644 tests/data/*.csv.gz tests/data/README.md $(SHARE)/data
	install -d $(UNITS)
	for f in deploy/systemd/*.service; do \
	    unit=$(UNITS)/$${f##*/}; \
	    sed 's|/usr/local/bin/|$(PREFIX)/bin/|' $$f >$$unit && chmod 644 $$unit && \
	    install -m 644 $$unit $(SHARE)/systemd/$${f##*/} || exit 1; done
	for f in docs/man/*.[1-8]; do [ ! -f $$f ] || \
	    install -D -m 644 $$f $(MAN)/man$${f##*.}/$${f##*/} || exit 1; done

uninstall:
	rm -rf $(SHARE)
	for f in $(PROGRAMS) $(TOOLS) vfl; do rm -f $(DESTDIR)$(PREFIX)/bin/$${f##*/}; done
	for f in deploy/systemd/*; do rm -f $(UNITS)/$${f##*/}; done
	for f in docs/man/*.[1-8]; do rm -f $(MAN)/man$${f##*.}/$${f##*/}; done

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
