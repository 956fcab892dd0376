#!/usr/bin/env python3
"""A lint that cannot fail is a fault: each is fed what it must find and what it must not."""

import os
import unittest

import banned
import layers
import sizes
import sources
import tree


def words(problems):
    return [problem[2] for problem in problems]


class Layers(unittest.TestCase):
    def check(self, **files):
        named = {name.replace("__", "/").replace("_C", ".c").replace("_H", ".h"): text
                 for name, text in files.items()}
        return layers.check(named)

    def assert_found(self, part, **files):
        found = words(self.check(**files))
        self.assertTrue(any(part in one for one in found), f"{part!r} not in {found}")

    def test_upward_include_is_found(self):
        self.assert_found("proto/base must not include proto/wire",
                          proto__base__a_C='#include "proto/wire/b.h"\n', proto__wire__b_H="")
        self.assert_found("controller/report must not include agent/probe",
                          controller__report__a_C='#include "agent/probe/b.h"\n',
                          agent__probe__b_H="")
        self.assert_found("agent/host must not include agent/probe",
                          agent__host__a_C='#include "agent/probe/b.h"\n', agent__probe__b_H="")

    def test_downward_include_is_allowed(self):
        self.assertEqual([], self.check(
            proto__wire__a_C='/* a */\n#include "proto/base/b.h"\n#include <stdio.h>\n',
            proto__base__b_H="#include <stdint.h>\n"))

    def test_missing_header_and_included_source_are_found(self):
        self.assert_found("not a file", proto__base__a_C='#include "b.h"\n', proto__base__b_H="")
        self.assert_found("only headers", proto__base__a_C='#include "proto/base/b.c"\n',
                          proto__base__b_C="")

    def test_unknown_folder_is_found(self):
        self.assert_found("no folder of ours", proto__misc__a_C="")

    def test_third_party_header_elsewhere_is_found(self):
        self.assert_found("<jansson.h> is not for", proto__wire__result_C="#include <jansson.h>\n")
        self.assert_found("<openssl/evp.h> is not for",
                          agent__probe__a_C="#  include <openssl/evp.h>\n")
        self.assertEqual([], self.check(proto__wire__record_json_C="#include <jansson.h>\n"))

    def test_system_header_outside_of_host_is_found(self):
        self.assert_found("neither C nor POSIX", agent__probe__a_C="#include <sys/epoll.h>\n")
        self.assert_found("neither C nor POSIX", proto__base__a_C="#include <linux/errqueue.h>\n")
        self.assertEqual([], self.check(agent__host__a_C="#include <sys/epoll.h>\n"))

    def test_condition_on_the_system_is_found(self):
        for line in ("#ifdef __linux__", "#if defined(__APPLE__) && X", "#  elif defined __MACH__",
                     "#if X && \\\n    defined(__linux__)"):
            self.assert_found("asks for the system", agent__host__a_C=line + "\n#endif\n")
        self.assertEqual([], self.check(agent__host__a_linux_C="#ifdef __linux__\n#endif\n",
                                        agent__host__b_C="/* #ifdef __linux__ */\n#ifdef X\n"))

    def test_cycle_is_found(self):
        self.assert_found("proto/base/a, proto/base/b, proto/base/c",
                          proto__base__a_H="", proto__base__b_H="",
                          proto__base__a_C='#include "proto/base/b.h"\n',
                          proto__base__b_C='#include "proto/base/c.h"\n',
                          proto__base__c_H='#include "proto/base/a.h"\n')

    def test_private_part_may_share_its_owners_types(self):
        part = {"proto__base__a_C": '#include "proto/base/a_part.h"\n', "proto__base__a_H": "",
                "proto__base__a_part_H": '#include "proto/base/a.h"\n'}
        self.assertEqual([], self.check(**part))
        self.assert_found("include one another", **part, proto__base__b_H="",
                          proto__base__b_C='#include "proto/base/a_part.h"\n')

    def test_commented_include_is_ignored(self):
        self.assertEqual([], self.check(proto__base__a_C='/*\n#include "agent/host/b.h"\n*/\n'))

    def test_real_tree_is_read(self):
        files = sources.sources(".h")
        self.assertIn("proto/base/status.h", files)
        found = [header for _, _, header in layers.includes(files["proto/base/clock.h"])]
        self.assertEqual(["stdbool.h", "stdint.h", "proto/base/status.h"], found)


def function(lines, head="static int f(int a)"):
    return head + "\n{\n" + "    a++;\n" * (lines - 3) + "}\n"


class Sizes(unittest.TestCase):
    def check(self, text, long=None):
        return words(sizes.check({"proto/base/a.c": text}, long or {}))

    def test_long_function_is_found(self):
        self.assertEqual([], self.check(function(50)))
        self.assertIn("f has 51 lines", self.check("int x;\n\n" + function(51))[0])

    def test_listed_function_may_be_a_table(self):
        self.assertEqual([], self.check(function(80), {"proto/base/a.c:f": "a table"}))
        self.assertIn("f has 81", self.check(function(81), {"proto/base/a.c:f": "a table"})[0])

    def test_stale_list_entry_is_found(self):
        self.assertIn("does not exist", self.check("", {"proto/base/a.c:f": "gone"})[0])

    def test_parameters_are_counted(self):
        five = "int f(int a, int (*b)(int, int), char c[2][3],\n      int d, ...) must_check"
        self.assertEqual([], self.check(function(5, five)))
        six = "enum status f(int a, int b, int c, int d,\n              struct x *e, int g)"
        self.assertIn("f has 6 parameters", self.check(function(5, six))[0])

    def test_function_behind_a_directive_or_comment_is_seen(self):
        for before in ("#define X(a) \\\n    a\n", "/* x; } */\n", "// }\n", "struct a {\n};\n",
                       "static int x[] = {\n    1,\n};\n"):
            self.assertIn("f has 60", self.check(before + function(60))[0], before)

    def test_braces_in_strings_do_not_confuse(self):
        text = 'int f(void)\n{\n    p("\\n}\\n");\n    p(\'}\');\n' + "    p();\n" * 61 + "}\n"
        self.assertIn("f has 66", self.check(text)[0])

    def test_initializer_is_no_function(self):
        text = "static const int x[f(2)] =\n{\n" + "    1,\n" * 70 + "};\n"
        self.assertEqual([], self.check(text))

    def test_long_file_and_line_are_found(self):
        self.assertIn("500 lines", self.check("int x;\n" * 500)[0])
        self.assertEqual([], self.check("int x;\n" * 499))
        self.assertIn("101 columns", self.check("x" * 101 + "\n")[0])


class Banned(unittest.TestCase):
    def check(self, text, path="proto/base/a.c"):
        return words(banned.check({path: text}))

    def test_each_banned_call_is_found(self):
        for name in banned.BANNED:
            text = f"void f(void)\n{{\n    x = {name}(y);\n}}\n"
            self.assertEqual(1, len(self.check(text)), name)

    def test_call_behind_a_keyword_is_found(self):
        self.assertEqual(1, len(self.check("    return atoi(x);\n")))
        self.assertEqual(1, len(self.check("    else usleep(x);\n")))

    def test_exit_outside_of_main_is_found(self):
        self.assertEqual(1, len(self.check("    exit(1);\n")))
        self.assertEqual([], self.check("    exit(1);\n", "controller/main.c"))
        self.assertEqual([], self.check("    _exit(1);\n", "tests/tool/a.c"))

    def test_tests_may_call_programs_but_not_atoi(self):
        self.assertEqual([], self.check("    system(x);\n", "tests/proto/base/test_a.c"))
        self.assertEqual(1, len(self.check("    atoi(x);\n", "tests/proto/base/test_a.c")))

    def test_words_names_and_members_are_left_alone(self):
        for text in ("/* atoi(x) */\n", 'p("system(1)");\n', "x->system(1);\n", "x.sleep(1);\n",
                     "my_atoi(x);\n", "gmtime_r(a, b);\n", "int random(void);\n"):
            self.assertEqual([], self.check(text), text)

    def test_inherited_descriptor_is_found(self):
        for call in ("open(p, O_RDONLY)", "socket(AF_INET,\n SOCK_DGRAM, 0)", "accept(a, b, c)",
                     "pipe(p)", 'fopen(p, "rb")', "epoll_create1(0)", "dup(1)"):
            self.assertEqual(1, len(self.check(f"    fd = {call};\n")), call)
        for call in ("open(p, O_RDONLY | O_CLOEXEC)", 'fopen(p, "rbe")',
                     "socket(a, SOCK_DGRAM | SOCK_CLOEXEC, 0)", "fcntl(1, F_DUPFD_CLOEXEC, 3)",
                     "pipe(p);\n    fcntl(p[0], F_SETFD, FD_CLOEXEC)"):
            self.assertEqual([], self.check(f"    fd = {call};\n"), call)


class Tree(unittest.TestCase):
    def test_foreign_files_are_found(self):
        for path in ("src/a.c", "proto/base/a.o", "build.ninja", "tests/__pycache__/a.pyc",
                     "certs/agent.key", "tests/id_rsa"):
            self.assertTrue(list(tree.check_paths([path])), path)
        for path in ("proto/base/a.c", ".ci/run", "run", "docs/keys.md", "tests/core.py"):
            self.assertEqual([], list(tree.check_paths([path])), path)

    def test_secret_is_found(self):
        key = "-----BEGIN " + "RSA PRIVATE KEY-----"
        self.assertEqual(2, list(tree.check_content("a.md", "x\n" + key))[0][1])
        self.assertEqual([], list(tree.check_content("a.md", "-----BEGIN CERTIFICATE-----")))

    def check_links(self, text):
        pages = {"docs/a.md": text, "docs/b.md": "# The one `thing`\n", "README.md": ""}
        return words(tree.check_links("docs/a.md", text, pages.__contains__, pages.__getitem__))

    def test_dead_link_is_found(self):
        self.assertIn("c.md", self.check_links("see [c](c.md)")[0])
        self.assertIn("#two", self.check_links("see [b](b.md#two)")[0])
        self.assertIn("../b.md", self.check_links("![b](../b.md)")[0])

    def test_live_links_are_left_alone(self):
        self.assertEqual([], self.check_links(
            "# Here\n[b](b.md) [t](b.md#the-one-thing) [r](../README.md) [x](https://x.y/z)"
            "[h](#here)\n```\n[no](link.md)\n```\n"))


class Sources(unittest.TestCase):
    def test_walking_and_git_find_the_same_sources(self):
        listed = {path for path in sources.paths() if path.endswith((".c", ".h"))}
        self.assertEqual(listed, {path for path in sources.walk(sources.ROOT)
                                  if path.endswith((".c", ".h"))})

    def test_no_lint_runs_over_nothing(self):
        self.assertGreater(len(sources.sources((".c", ".h"))), 20)
        self.assertTrue(os.path.isfile(os.path.join(sources.ROOT, "CMakeLists.txt")))


if __name__ == "__main__":
    unittest.main()
