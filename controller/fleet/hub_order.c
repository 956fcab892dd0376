/* Owns every reason to refuse a run before its hosts hear of it, and what an order leaves open: the
 * addresses, and the families, that the hosts have told. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "controller/fleet/hub_part.h"
#include "proto/base/text.h"

/* --- agents --------------------------------------------------------------------------------- */

static enum status check_agent(const struct hub *hub, const char *flag, const char *name,
                               struct fault *fault)
{
    const char *nearest;

    if (fleet_peer(hub->fleet, name) != 0)
        return STATUS_OK;
    if (fleet_knows(hub->fleet, name))
        return fault_set(fault, STATUS_NOT_FOUND, "%s: agent %s is not connected", flag, name);
    nearest = fleet_nearest(hub->fleet, name);
    if (nearest != NULL)
        return fault_set(fault, STATUS_NOT_FOUND, "%s: no agent is called %s; did you mean %s?",
                         flag, name, nearest);
    return fault_set(fault, STATUS_NOT_FOUND, "%s: no agent is called %s; %zu are known", flag,
                     name, fleet_count(hub->fleet));
}

static enum status check_agents(const struct hub *hub, const struct message_run *order,
                                struct fault *fault)
{
    enum status status = check_agent(hub, "from", order->from, fault);

    if (status == STATUS_OK)
        status = check_agent(hub, "to", order->to, fault);
    if (status == STATUS_OK && strcmp(order->from, order->to) == 0)
        status = fault_set(fault, STATUS_INVALID,
                           "from and to are both %s: a run is between two agents; \"sonde "
                           "loopback\" measures within one host",
                           order->from);
    return status;
}

/* --- addresses ------------------------------------------------------------------------------ */

/* A zone is an interface of `from`: only that host can check it. */
static bool is_address(const char *text, enum family family)
{
    unsigned char unused[sizeof(struct in6_addr)];
    char address[ADDR_TEXT_SIZE];
    size_t length = strcspn(text, "%");

    if (text[length] == '%' && (family == FAMILY_IPV4 || text[length + 1] == '\0'))
        return false;
    text_copy(address, sizeof address, text);
    address[length] = '\0';
    return inet_pton(family == FAMILY_IPV4 ? AF_INET : AF_INET6, address, unused) == 1;
}

/* Where `to` is asked in this family: the order's word, or the first address that it has told. */
static enum status find_address(const struct hub *hub, const struct message_run *order,
                                enum family family, char out_address[ADDR_TEXT_SIZE],
                                struct fault *fault)
{
    const char *address = order->address;

    if (address[0] == '\0')
        address = fleet_address(hub->fleet, order->to, family);
    if (address[0] == '\0')
        return fault_set(fault, STATUS_NOT_FOUND,
                         "family: agent %s has told of no %s address; give one with address",
                         order->to, family_name(family));
    if (!is_address(address, family))
        return fault_set(fault, STATUS_INVALID,
                         "address: \"%s\" is no %s address: allowed is a number without a port, "
                         "with a zone where it is link-local",
                         address, family_name(family));
    /* Brackets and a port come around it. */
    if (strlen(address) + sizeof "[]:65535" > ADDR_TEXT_SIZE)
        return fault_set(fault, STATUS_TOO_LARGE, "address: it is too long");
    text_copy(out_address, ADDR_TEXT_SIZE, address);
    return STATUS_OK;
}

/* --- families of a path MTU run ------------------------------------------------------------- */

static void add_family(struct mtu_plan *plan, enum family family)
{
    *(int *)list_append_sized(&plan->families, sizeof(int)) = (int)family;
}

/* An address has a family, and one only. */
static enum status family_of_address(const char *address, struct mtu_plan *plan,
                                     struct fault *fault)
{
    enum family family = is_address(address, FAMILY_IPV6) ? FAMILY_IPV6 : FAMILY_IPV4;
    const int *asked = plan->families.items;

    if (!is_address(address, family))
        return fault_set(fault, STATUS_INVALID,
                         "address: \"%s\" is no address: allowed is a number without a port, IPv4 "
                         "or IPv6, with a zone where it is link-local",
                         address);
    if (plan->families.count == 0)
        add_family(plan, family);
    else if (plan->families.count != 1 || asked[0] != (int)family)
        return fault_set(fault, STATUS_INVALID,
                         "family: address %s is of %s: allowed with it is %s alone", address,
                         family_name(family), family_name(family));
    return STATUS_OK;
}

/* What an agent has told, for people: "ipv4", "ipv6", "ipv4 and ipv6", "no". */
static const char *told_words(const struct hub *hub, const char *name)
{
    bool v4 = fleet_address(hub->fleet, name, FAMILY_IPV4)[0] != '\0';
    bool v6 = fleet_address(hub->fleet, name, FAMILY_IPV6)[0] != '\0';

    if (v4 && v6)
        return "ipv4 and ipv6";
    return v4 ? "ipv4" : v6 ? "ipv6" : "no";
}

/* Those that both hosts have. */
static enum status families_in_common(const struct hub *hub, const struct message_run *order,
                                      struct mtu_plan *plan, struct fault *fault)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        enum family family = (enum family)i;

        if (fleet_address(hub->fleet, order->from, family)[0] != '\0' &&
            fleet_address(hub->fleet, order->to, family)[0] != '\0')
            add_family(plan, family);
    }
    if (plan->families.count > 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_NOT_FOUND,
                     "family: %s and %s have none in common: agent %s has told of %s addresses, "
                     "agent %s of %s; give one of %s with address",
                     order->from, order->to, order->from, told_words(hub, order->from), order->to,
                     told_words(hub, order->to), order->to);
}

static enum status choose_families(const struct hub *hub, struct message_run *order,
                                   struct fault *fault)
{
    struct mtu_plan *plan = &order->of_mtu.plan;

    if (order->address[0] != '\0')
        return family_of_address(order->address, plan, fault);
    if (plan->families.count > 0)
        return STATUS_OK;
    return families_in_common(hub, order, plan, fault);
}

/* --- the work ------------------------------------------------------------------------------- */

static enum status check_cases(const struct hub *hub, struct message_run *order,
                               struct measure_addresses *out_addresses, struct fault *fault)
{
    struct plan *plan = &order->of_cases.plan;
    enum status status = plan_check_pair(plan, fault);

    /* Each host has one role, so each role has its own threads. */
    plan->common.io_model = IO_MODEL_SPLIT;
    if (status != STATUS_OK)
        return status;
    return find_address(hub, order, plan->common.family, out_addresses->of[plan->common.family],
                        fault);
}

static enum status check_mtu(const struct hub *hub, struct message_run *order,
                             struct measure_addresses *out_addresses, struct fault *fault)
{
    const struct mtu_plan *plan = &order->of_mtu.plan;
    enum status status = choose_families(hub, order, fault);

    if (status == STATUS_OK)
        status = mtu_plan_check(plan, fault);
    for (size_t i = 0; i < mtu_plan_sessions(plan) && status == STATUS_OK; i++) {
        enum family family = mtu_plan_session(plan, i).family;

        status = find_address(hub, order, family, out_addresses->of[family], fault);
    }
    return status;
}

enum status hub_check_order(const struct hub *hub, struct message_run *order,
                            struct measure_addresses *out_addresses, struct fault *fault)
{
    struct measure_addresses addresses = { { "", "" } };
    enum status status;

    if (hub->stopping)
        return fault_set(fault, STATUS_INTERRUPTED, "the controller is being stopped");
    if (hub->run_count >= hub->rules.runs_max)
        return fault_set(fault, STATUS_NO_RESOURCE,
                         "limits.runs allows %zu runs at once, and as many wait or run",
                         hub->rules.runs_max);
    status = check_agents(hub, order, fault);
    if (status == STATUS_OK)
        status = order->kind == WORK_CASES ? check_cases(hub, order, &addresses, fault)
                                           : check_mtu(hub, order, &addresses, fault);
    if (status == STATUS_OK)
        *out_addresses = addresses;
    return status;
}
