/* A socket of this process must be in the system's list, and be this process's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/host/procfs.h"
#include "agent/host/socket.h"
#include "agent/host/sockets.h"

static int64_t inode_of(int fd)
{
    struct stat facts;

    assert_int_equal(fstat(fd, &facts), 0);
    return (int64_t)facts.st_ino;
}

static void check_listed(enum family family)
{
    struct addr any = addr_loopback(family, 0), bound;
    struct list sockets = { 0 };
    size_t found = 0;
    int fd;

    if (socket_open(&any, &fd, &bound, NULL) != STATUS_OK)
        skip();
    if (sockets_read(&sockets, NULL) == STATUS_UNSUPPORTED) {
        close(fd);
        skip();
    }
    for (size_t i = 0; i < sockets.count; i++) {
        const struct proc_socket *one = (const struct proc_socket *)sockets.items + i;

        found += one->inode == inode_of(fd) && one->port == addr_port(&bound) && one->drops == 0;
    }
    assert_int_equal(found, 1);
    free(sockets.items);
    close(fd);
}

static void a_socket_is_in_the_list(void **state)
{
    (void)state;
    check_listed(FAMILY_IPV4);
    check_listed(FAMILY_IPV6);
}

static void its_process_is_found_and_a_stranger_s_is_not(void **state)
{
    struct addr any = addr_loopback(FAMILY_IPV4, 0), bound;
    struct socket_owner owners[2] = { { .process = "left over" }, { .process = "left over" } };
    struct list sockets = { 0 };
    char end[32];
    int fd;

    (void)state;
    if (sockets_read(&sockets, NULL) == STATUS_UNSUPPORTED)
        skip();
    free(sockets.items);
    assert_int_equal(socket_open(&any, &fd, &bound, NULL), STATUS_OK);
    owners[0].inode = INT64_MAX; /* nobody's */
    owners[1].inode = inode_of(fd);
    sockets_find_owners(owners, 2);
    snprintf(end, sizeof end, " (%ld)", (long)getpid());
    assert_string_equal(owners[0].process, "");
    assert_non_null(strstr(owners[1].process, end));
    assert_true(owners[1].process[0] != ' ');
    close(fd);
}

static void the_owners_of_none_are_none(void **state)
{
    (void)state;
    sockets_find_owners(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_in_the_list),
        cmocka_unit_test(its_process_is_found_and_a_stranger_s_is_not),
        cmocka_unit_test(the_owners_of_none_are_none),
    };

    return cmocka_run_group_tests_name("sockets", tests, NULL, NULL);
}
