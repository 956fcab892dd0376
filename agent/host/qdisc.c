/* Owns the layout of RTM_NEWQDISC messages (include/uapi/linux/netlink.h, rtnetlink.h,
 * gen_stats.h). Includes no header of Linux: it is built and tested everywhere.
 */
#include "agent/host/qdisc.h"

#include <string.h>

enum {
    MESSAGE_ALIGN = 4,
    MESSAGE_HEAD = 16,
    MESSAGE_TYPE = 4, /* offset of u16 */
    TYPE_ERROR = 2,
    TYPE_DONE = 3,
    TYPE_NEWQDISC = 36,
    TC_SIZE = 20,
    TC_PARENT = 12, /* offset of u32 */
    ATTRIBUTE_HEAD = 4,
    ATTRIBUTE_TYPE = 2, /* offset of u16 */
    TCA_STATS2_TYPE = 7,
    TCA_STATS_QUEUE_TYPE = 3,
    QUEUE_DROPS = 8, /* offset of u32 in struct gnet_stats_queue */
    TYPE_MASK = 0x3fff
};
#define PARENT_ROOT UINT32_C(0xffffffff)

struct bytes {
    const uint8_t *at;
    size_t length;
};

static uint16_t read16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t read32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* Cuts `size` bytes off, and the padding behind them. */
static void advance(struct bytes *rest, size_t size)
{
    size_t padded = (size + MESSAGE_ALIGN - 1) / MESSAGE_ALIGN * MESSAGE_ALIGN;

    if (padded > rest->length)
        padded = rest->length;
    rest->at += padded;
    rest->length -= padded;
}

/* Finds the attribute of this type; false when there is none or one before it does not fit. */
static bool find_attribute(struct bytes rest, unsigned type, struct bytes *out_value)
{
    while (rest.length >= ATTRIBUTE_HEAD) {
        size_t size = read16(rest.at);

        if (size < ATTRIBUTE_HEAD || size > rest.length)
            return false;
        if ((read16(rest.at + ATTRIBUTE_TYPE) & TYPE_MASK) == type) {
            *out_value = (struct bytes){ rest.at + ATTRIBUTE_HEAD, size - ATTRIBUTE_HEAD };
            return true;
        }
        advance(&rest, size);
    }
    return false;
}

static void read_qdisc(struct bytes body, struct qdisc_sum *sum)
{
    struct bytes stats, queue;

    if (body.length < TC_SIZE) {
        sum->skipped++;
        return;
    }
    if (read32(body.at + TC_PARENT) != PARENT_ROOT)
        return;
    advance(&body, TC_SIZE);
    if (!find_attribute(body, TCA_STATS2_TYPE, &stats) ||
        !find_attribute(stats, TCA_STATS_QUEUE_TYPE, &queue) ||
        queue.length < QUEUE_DROPS + sizeof(uint32_t)) {
        sum->skipped++;
        return;
    }
    sum->roots++;
    sum->drops += read32(queue.at + QUEUE_DROPS);
}

/* The errno of an error message, kept negative by the kernel; 0 there is an acknowledgement. */
static void read_error(struct bytes body, struct qdisc_sum *sum)
{
    sum->done = true;
    if (body.length < sizeof(uint32_t))
        sum->skipped++;
    else
        sum->error = (int)(0U - read32(body.at));
}

void qdisc_read(const uint8_t *bytes, size_t length, struct qdisc_sum *sum)
{
    struct bytes rest = { bytes, length };

    while (!sum->done && rest.length >= MESSAGE_HEAD) {
        size_t size = read32(rest.at);
        struct bytes body;

        if (size < MESSAGE_HEAD || size > rest.length)
            break;
        body = (struct bytes){ rest.at + MESSAGE_HEAD, size - MESSAGE_HEAD };
        switch (read16(rest.at + MESSAGE_TYPE)) {
        case TYPE_NEWQDISC:
            read_qdisc(body, sum);
            break;
        case TYPE_ERROR:
            read_error(body, sum);
            break;
        case TYPE_DONE:
            sum->done = true;
            break;
        default:
            break;
        }
        advance(&rest, size);
    }
    sum->skipped += !sum->done && rest.length > 0;
}
