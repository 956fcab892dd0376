/* Owns who is who: names, connections, takeovers, and which run holds which host. Knows neither
 * messages' way nor the store; every time comes as an argument. */
#include "controller/fleet/fleet.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/peermap.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

struct agent {
    struct agent_row row; /* connected, last_seen_s and busy_with are made when it is asked for */
    char instance[UUID_SIZE];
    uint64_t peer; /* 0: away */
    struct mono seen;
    bool taken_over;       /* by another instance, ever since this controller runs */
    struct mono taken_at;  /* when that was last */
    size_t holds;          /* of struct hold; at most one when exclusive */
    struct agent *unsaved; /* the next in the queue of fleet_changed */
    bool waits_to_be_saved;
};

struct hold {
    struct agent *hosts[2];
    char run[UUID_SIZE];
    bool exclusive;
};

struct fleet {
    struct agent **agents; /* by name */
    size_t count, capacity;
    size_t connected;
    struct peermap peers; /* of struct agent: current connections */
    struct list holds;    /* of struct hold */
    struct agent *unsaved, **unsaved_end;
};

struct fleet *fleet_new(void)
{
    struct fleet *fleet = memory_new(1, sizeof *fleet);

    fleet->unsaved_end = &fleet->unsaved;
    return fleet;
}

/* An agent's words: what is too long for an address is none, and would make rows of any size. */
static void copy_addresses(const struct list *words, struct list *out_words)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *word = ((char *const *)words->items)[i];

        if (strlen(word) < ADDR_TEXT_SIZE)
            words_add(out_words, word);
    }
}

void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (size_t i = 0; i < fleet->count; i++) {
        words_done(&fleet->agents[i]->row.addresses);
        free(fleet->agents[i]);
    }
    free(fleet->agents);
    free(fleet->holds.items);
    peermap_done(&fleet->peers);
    free(fleet);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Where this name stands, or would stand. */
static size_t place_of(const struct fleet *fleet, const char *name)
{
    size_t low = 0, high = fleet->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(fleet->agents[middle]->row.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct agent *find(const struct fleet *fleet, const char *name)
{
    size_t place = place_of(fleet, name);

    if (place < fleet->count && strcmp(fleet->agents[place]->row.name, name) == 0)
        return fleet->agents[place];
    return NULL;
}

static struct agent *add(struct fleet *fleet, const char *name)
{
    size_t place = place_of(fleet, name);
    struct agent *agent = memory_new(1, sizeof *agent);

    if (fleet->count == fleet->capacity) {
        fleet->capacity = fleet->capacity == 0 ? 16 : fleet->capacity * 2;
        fleet->agents = realloc(fleet->agents, fleet->capacity * sizeof(struct agent *));
        if (fleet->agents == NULL)
            abort();
    }
    memmove(fleet->agents + place + 1, fleet->agents + place,
            (fleet->count - place) * sizeof(struct agent *));
    fleet->agents[place] = agent;
    fleet->count++;
    text_copy(agent->row.name, sizeof agent->row.name, name);
    agent->row.clock.max_error_ns = NONE_INT;
    return agent;
}

void fleet_remember(struct fleet *fleet, const struct agent_row *row, struct mono now)
{
    struct agent *agent;

    if (fleet->count >= LIMIT_FLEET || find(fleet, row->name) != NULL)
        return;
    agent = add(fleet, row->name);
    agent->row = *row;
    agent->row.addresses = (struct list){ 0 };
    copy_addresses(&row->addresses, &agent->row.addresses);
    agent->row.sessions = 0;
    agent->seen = mono_after(
        now, row->last_seen_s < 1e9 ? -(int64_t)(row->last_seen_s * (double)NS_PER_S) : -INT64_MAX);
}

bool fleet_knows(const struct fleet *fleet, const char *name)
{
    return find(fleet, name) != NULL;
}

const char *fleet_nearest(const struct fleet *fleet, const char *name)
{
    const char **names = memory_new(fleet->count + 1, sizeof *names);
    const char *nearest;

    for (size_t i = 0; i < fleet->count; i++)
        names[i] = fleet->agents[i]->row.name;
    nearest = text_nearest(name, names);
    free(names);
    return nearest;
}

/* --- connections ---------------------------------------------------------------------------- */

static void changed(struct fleet *fleet, struct agent *agent)
{
    if (agent->waits_to_be_saved)
        return;
    agent->waits_to_be_saved = true;
    agent->unsaved = NULL;
    *fleet->unsaved_end = agent;
    fleet->unsaved_end = &agent->unsaved;
}

/* Another host, or a restart, comes while the old connection lives. */
static enum status judge_duplicate(struct agent *agent, const struct fleet_arrival *arrival,
                                   struct mono now, struct fault *fault)
{
    const char *other = agent->row.address;

    agent->row.duplicates++;
    if (agent->taken_over && mono_between(agent->taken_at, now) < FLEET_FLAP_NS) {
        text_copy(agent->row.duplicate_address, sizeof agent->row.duplicate_address,
                  arrival->address);
        return fault_set(fault, STATUS_EXISTS,
                         "duplicate: agent %s is connected from %s already, and so is another host "
                         "with the same certificate, at %s",
                         arrival->name, other, arrival->address);
    }
    text_copy(agent->row.duplicate_address, sizeof agent->row.duplicate_address, other);
    agent->taken_over = true;
    agent->taken_at = now;
    return STATUS_OK;
}

static void take_hello(struct agent *agent, const struct fleet_arrival *arrival, struct mono now)
{
    const struct message_hello *hello = arrival->hello;
    struct agent_row *row = &agent->row;

    text_copy(row->address, sizeof row->address, arrival->address);
    text_copy(row->version, sizeof row->version, hello->version);
    text_copy(row->os, sizeof row->os, hello->os);
    text_copy(row->os_release, sizeof row->os_release, hello->os_release);
    text_copy(row->arch, sizeof row->arch, hello->arch);
    text_copy(agent->instance, sizeof agent->instance, hello->instance);
    row->clock = hello->clock;
    row->spool = hello->spool;
    row->sessions = 0;
    words_done(&row->addresses);
    copy_addresses(&hello->addresses, &row->addresses);
    agent->peer = arrival->peer;
    agent->seen = now;
}

enum status fleet_hello(struct fleet *fleet, const struct fleet_arrival *arrival, struct mono now,
                        uint64_t *out_replaced, struct fault *fault)
{
    struct agent *agent = find(fleet, arrival->name);
    uint64_t old;

    assert(arrival->peer != 0);
    if (agent == NULL && fleet->count >= LIMIT_FLEET)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "%d agents are known to this controller: no more are taken", LIMIT_FLEET);
    if (agent == NULL)
        agent = add(fleet, arrival->name);
    old = agent->peer;
    if (old != 0 && old != arrival->peer &&
        strcmp(agent->instance, arrival->hello->instance) != 0) {
        enum status status = judge_duplicate(agent, arrival, now, fault);

        if (status != STATUS_OK)
            return status;
    }
    if (old != 0)
        peermap_remove(&fleet->peers, old);
    else
        fleet->connected++;
    peermap_put(&fleet->peers, arrival->peer, agent);
    take_hello(agent, arrival, now);
    changed(fleet, agent);
    *out_replaced = old == arrival->peer ? 0 : old;
    return STATUS_OK;
}

void fleet_status(struct fleet *fleet, uint64_t peer, const struct message_status *status,
                  struct mono now)
{
    struct agent *agent = peermap_get(&fleet->peers, peer);

    if (agent == NULL)
        return;
    agent->row.clock = status->clock;
    agent->row.spool = status->spool;
    agent->row.sessions = status->sessions;
    agent->seen = now;
}

void fleet_seen(struct fleet *fleet, uint64_t peer, struct mono now)
{
    struct agent *agent = peermap_get(&fleet->peers, peer);

    if (agent != NULL)
        agent->seen = now;
}

const char *fleet_lost(struct fleet *fleet, uint64_t peer, struct mono now)
{
    struct agent *agent = peermap_remove(&fleet->peers, peer);

    (void)now; /* last seen is when something came, not when it was given up */
    if (agent == NULL)
        return NULL;
    agent->peer = 0;
    agent->row.sessions = 0;
    fleet->connected--;
    changed(fleet, agent);
    return agent->row.name;
}

const char *fleet_name(const struct fleet *fleet, uint64_t peer)
{
    const struct agent *agent = peermap_get(&fleet->peers, peer);

    return agent == NULL ? NULL : agent->row.name;
}

uint64_t fleet_peer(const struct fleet *fleet, const char *name)
{
    const struct agent *agent = find(fleet, name);

    return agent == NULL ? 0 : agent->peer;
}

const char *fleet_address(const struct fleet *fleet, const char *name, enum family family)
{
    const struct agent *agent = find(fleet, name);
    size_t count = agent == NULL ? 0 : agent->row.addresses.count;
    char *const *addresses = agent == NULL ? NULL : agent->row.addresses.items;
    unsigned char unused[sizeof(struct in6_addr)];

    for (size_t i = 0; i < count; i++) {
        /* An agent's word: what is no address is passed over. */
        if (inet_pton(family == FAMILY_IPV4 ? AF_INET : AF_INET6, addresses[i], unused) == 1)
            return addresses[i];
    }
    return "";
}

/* --- holds ---------------------------------------------------------------------------------- */

static const struct hold *hold_at(const struct fleet *fleet, size_t index)
{
    return (const struct hold *)fleet->holds.items + index;
}

static bool has(const struct hold *hold, const struct agent *agent)
{
    return hold->hosts[0] == agent || hold->hosts[1] == agent;
}

/* The first run that holds it, NULL when none does. */
static const struct hold *holder_of(const struct fleet *fleet, const struct agent *agent)
{
    for (size_t i = 0; agent->holds > 0 && i < fleet->holds.count; i++) {
        if (has(hold_at(fleet, i), agent))
            return hold_at(fleet, i);
    }
    return NULL;
}

bool fleet_hold(struct fleet *fleet, const struct fleet_claim *claim, const char **out_holder)
{
    struct agent *hosts[2] = { find(fleet, claim->from), find(fleet, claim->to) };
    struct hold *hold;

    assert(hosts[0] != NULL && hosts[1] != NULL);
    for (size_t i = 0; i < 2; i++) {
        const struct hold *holder = holder_of(fleet, hosts[i]);

        if (holder == NULL || (!claim->exclusive && !holder->exclusive))
            continue;
        *out_holder = holder->run;
        return false;
    }
    hold = list_append_sized(&fleet->holds, sizeof *hold);
    *hold = (struct hold){ .hosts = { hosts[0], hosts[1] }, .exclusive = claim->exclusive };
    text_copy(hold->run, sizeof hold->run, claim->run);
    hosts[0]->holds++;
    hosts[1]->holds++;
    return true;
}

void fleet_release(struct fleet *fleet, const char *run)
{
    struct hold *holds = fleet->holds.items;
    size_t kept = 0;

    for (size_t i = 0; i < fleet->holds.count; i++) {
        if (strcmp(holds[i].run, run) != 0) {
            holds[kept++] = holds[i];
            continue;
        }
        holds[i].hosts[0]->holds--;
        holds[i].hosts[1]->holds--;
    }
    fleet->holds.count = kept;
}

/* --- rows ----------------------------------------------------------------------------------- */

size_t fleet_count(const struct fleet *fleet)
{
    return fleet->count;
}

size_t fleet_connected(const struct fleet *fleet)
{
    return fleet->connected;
}

static void row_of(const struct fleet *fleet, const struct agent *agent, struct mono now,
                   struct agent_row *out_row)
{
    const struct hold *holder = holder_of(fleet, agent);
    int64_t ago = mono_between(agent->seen, now);

    *out_row = agent->row;
    out_row->addresses = (struct list){ 0 };
    copy_addresses(&agent->row.addresses, &out_row->addresses);
    out_row->connected = agent->peer != 0;
    out_row->last_seen_s = ago > 0 ? (double)ago / (double)NS_PER_S : 0;
    text_copy(out_row->busy_with, sizeof out_row->busy_with, holder == NULL ? "" : holder->run);
}

void fleet_row(const struct fleet *fleet, size_t place, struct mono now, struct agent_row *out_row)
{
    assert(place < fleet->count);
    row_of(fleet, fleet->agents[place], now, out_row);
}

bool fleet_changed(struct fleet *fleet, struct mono now, struct agent_row *out_row)
{
    struct agent *agent = fleet->unsaved;

    if (agent == NULL)
        return false;
    fleet->unsaved = agent->unsaved;
    if (fleet->unsaved == NULL)
        fleet->unsaved_end = &fleet->unsaved;
    agent->waits_to_be_saved = false;
    row_of(fleet, agent, now, out_row);
    return true;
}

bool fleet_unsaved(const struct fleet *fleet)
{
    return fleet->unsaved != NULL;
}
