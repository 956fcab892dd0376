/* Owns the flags of `sonde mtu` and `sonde sizes` and what they ask for: one plan, in which a run
 * of the second differs by its defaults. Knows nothing of how it is measured. */
#include "controller/command/mtu_flags.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/record_table.h"

enum { SIZES_DEFAULT = 20000, SIZES_LEAST = 100, SIZES_MOST = 10000000, WORD_SIZE = 40 };

static const char mtu_about[] =
    "Finds the path MTU between two agents of a controller: the largest IP packet that gets\n"
    "through whole, exact to the byte, forward (from --from to --to) and reverse, on IPv4 and\n"
    "IPv6, for each source port. A size counts when the other end says it came; ICMP is a hint\n"
    "and no answer, so it works where ICMP is filtered, too, and says why the path MTU is what it\n"
    "is: the interface's own, a router that said so, or larger packets that vanish, and after\n"
    "which hop. The run is stored at the controller and archived here.";

static const char mtu_examples[] =
    "  sonde mtu --from paris --to oslo\n"
    "  sonde mtu --from paris --to oslo --flows 16 --family ipv4\n"
    "  sonde mtu --from paris --to oslo --direction forward --watch 3600\n"
    "  sonde mtu --from a --to b --address 'fe80::2%eth0' --floor 1280 --check\n";

static const char sizes_about[] =
    "Measures loss by size between two agents of a controller: finds the path MTU first, then\n"
    "sends datagrams of many sizes up to it, mixed, so that time does not look like size. Tells\n"
    "whether larger ones are lost more often, and above which size: what passes a search and\n"
    "still loses one in a hundred is seen here. The run is stored at the controller and archived\n"
    "here.";

static const char sizes_examples[] = "  sonde sizes --from paris --to oslo\n"
                                     "  sonde sizes --from paris --to oslo --budget 200000 "
                                     "--direction reverse --family ipv6\n";

static const struct field request_fields[] = {
    { FIELD_AT(struct mtu_request, pair), .type = FIELD_INLINE, .record = &follow_pair_record },
    { FIELD_AT(struct mtu_request, plan), .type = FIELD_INLINE, .record = &mtu_plan_record },
    INT(struct mtu_request, datagrams, SIZES_LEAST, SIZES_MOST,
        "datagrams that loss by size is measured with"),
};
static const struct record request_record = RECORD(mtu_request, request_fields);

void mtu_request_init(struct mtu_request *out_request)
{
    record_init(&request_record, out_request);
    mtu_plan_init(&out_request->plan);
    out_request->flags.output = "sonde-runs";
    out_request->datagrams = SIZES_DEFAULT;
}

void mtu_request_done(struct mtu_request *request)
{
    record_done(&request_record, request);
}

/* --- flags ------------------------------------------------------------------------------------ */

#define PAIR_OPTIONS                                                                               \
    { .name = "from",                                                                              \
      .argument = "AGENT",                                                                         \
      .field = "from",                                                                             \
      .help = "the agent that forward begins at (needed)" },                                       \
        { .name = "to",                                                                            \
          .argument = "AGENT",                                                                     \
          .field = "to",                                                                           \
          .help = "the agent that it leads to (needed)" },                                         \
        { .name = "address",                                                                       \
          .argument = "ADDR",                                                                      \
          .field = "address",                                                                      \
          .help = "of --to, and the family with it; without: the first of each family" },          \
        { .name = "family",                                                                        \
          .argument = "NAME",                                                                      \
          .value = &request->family,                                                               \
          .help = "ipv4, ipv6 or both (default: those that both hosts have)" },                    \
    {                                                                                              \
        .name = "direction", .argument = "NAME", .field = "direction"                              \
    }

#define SEARCH_OPTIONS                                                                             \
    { .name = "floor", .argument = "BYTES", .field = "floor" },                                    \
        { .name = "ceiling", .argument = "BYTES", .field = "ceiling" },                            \
        { .name = "tries", .argument = "N", .field = "tries" },                                    \
    {                                                                                              \
        .name = "pace", .argument = "BYTES", .field = "pace"                                       \
    }

#define CHECK_OPTION                                                                               \
    {                                                                                              \
        .name = "check", .flag = &request->flags.check,                                            \
        .help = "exit 3 unless each verdict is clean or signalled"                                 \
    }

enum options_result mtu_request_parse(struct mtu_request *request, int argc, char **argv)
{
    const struct option table[] = {
        PAIR_OPTIONS,
        { .name = "flows", .argument = "N", .field = "flows" },
        SEARCH_OPTIONS,
        { .name = "budget", .argument = "N", .field = "budget" },
        { .name = "sizes", .argument = "N", .field = "sizes" },
        { .name = "no-fragments",
          .flag = &request->no_fragments,
          .help = "do not try larger datagrams that may be cut on the way" },
        { .name = "no-trace",
          .flag = &request->no_trace,
          .help = "do not look for the hops between which larger ones vanish" },
        { .name = "watch", .argument = "SECONDS", .field = "watch_s" },
        { .name = "check-every", .argument = "SECONDS", .field = "check_s" },
        { .name = "raise-every", .argument = "SECONDS", .field = "raise_s" },
        CHECK_OPTION,
        FOLLOW_OPTIONS(&request->flags),
    };
    struct options options = { .command = "sonde mtu",
                               .usage = "--from AGENT --to AGENT [flags]",
                               .about = mtu_about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .record = &request_record,
                               .object = request,
                               .examples = mtu_examples };
    struct mtu_common *common = &request->plan.common;
    enum options_result result;

    result = options_parse(&options, argc, argv);
    /* While watching, nothing else is done. */
    common->fragments = !request->no_fragments && common->watch_s <= 0;
    common->trace = !request->no_trace && common->watch_s <= 0;
    return result;
}

enum options_result sizes_request_parse(struct mtu_request *request, int argc, char **argv)
{
    const struct option table[] = {
        PAIR_OPTIONS,
        { .name = "budget", .argument = "N", .field = "datagrams" },
        SEARCH_OPTIONS,
        CHECK_OPTION,
        FOLLOW_OPTIONS(&request->flags),
    };
    struct options options = { .command = "sonde sizes",
                               .usage = "--from AGENT --to AGENT [flags]",
                               .about = sizes_about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .record = &request_record,
                               .object = request,
                               .examples = sizes_examples };
    struct mtu_common *common = &request->plan.common;
    enum options_result result;

    result = options_parse(&options, argc, argv);
    common->fragments = common->trace = false;
    common->sizes = request->datagrams;
    return result;
}

/* An address is of one family, which then is the plan's; without either, the controller knows. */
static enum exit_code choose_families(const char *command, struct mtu_request *request)
{
    const char *address = request->pair.address, *asked = request->family;
    const char *its = family_names[strchr(address, ':') != NULL ? FAMILY_IPV6 : FAMILY_IPV4];
    char shown[WORD_SIZE];

    if (asked == NULL && address[0] == '\0')
        return EXIT_MEASURED;
    if (asked == NULL)
        asked = its;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(asked, family_names[i]) == 0 || strcmp(asked, "both") == 0)
            *(int *)list_append_sized(&request->plan.families, sizeof(int)) = i;
    }
    if (request->plan.families.count == 0) {
        text_copy(shown, sizeof shown, asked);
        utf8_mask(shown);
        fprintf(stderr, "sonde %s: --family: \"%s\" is not allowed: one of ipv4, ipv6, both\n",
                command, shown);
        return EXIT_USAGE;
    }
    if (address[0] != '\0' && strcmp(asked, its) != 0) {
        fprintf(stderr, "sonde %s: --family: %s is not allowed with an --address of %s\n", command,
                asked, its);
        return EXIT_USAGE;
    }
    return EXIT_MEASURED;
}

enum exit_code mtu_request_check(const char *command, struct mtu_request *request)
{
    enum exit_code code = follow_check(command, &request->pair);
    struct fault fault = { "" };

    if (code == EXIT_MEASURED)
        code = choose_families(command, request);
    if (code == EXIT_MEASURED && mtu_plan_check(&request->plan, &fault) != STATUS_OK) {
        fprintf(stderr, "sonde %s: --%s\n", command, fault.text);
        code = EXIT_USAGE;
    }
    return code;
}
