/* The tables of the messages' fields: for message.c. */
#ifndef SONDE_WIRE_MESSAGE_FIELDS_H
#define SONDE_WIRE_MESSAGE_FIELDS_H

#include "proto/wire/record.h"

extern const struct record message_ping_record;
extern const struct record message_bye_record;
extern const struct record message_hello_record;
extern const struct record message_status_record;
extern const struct record message_opened_record;
extern const struct record message_refused_record;
extern const struct record message_begun_record;
extern const struct record message_progress_record;
extern const struct record message_moved_record;
extern const struct record message_ended_record;
extern const struct record message_closed_record;
extern const struct record message_failed_record;
extern const struct record message_result_record;
extern const struct record message_welcome_record;
extern const struct record message_open_record;
extern const struct record message_begin_record;
extern const struct record message_end_record;
extern const struct record message_close_record;
extern const struct record message_committed_record;
extern const struct record message_list_agents_record;
extern const struct record message_run_record;
extern const struct record message_stop_record;
extern const struct record message_list_results_record;
extern const struct record message_show_record;
extern const struct record message_agents_record;
extern const struct record message_accepted_record;
extern const struct record message_run_progress_record;
extern const struct record message_run_moved_record;
extern const struct record message_case_done_record;
extern const struct record message_mtu_done_record;
extern const struct record message_run_done_record;
extern const struct record message_results_record;
extern const struct record message_part_record;
extern const struct record message_error_record;

#endif
