/*
 * mps.h - what NVIDIA's MPS control program is called, and told.
 */
#ifndef GSB_BASE_MPS_H
#define GSB_BASE_MPS_H

#include <stddef.h>
#include <sys/types.h>

#define GSB_MPS_PROGRAM "nvidia-cuda-mps-control"

/*
 * gsb_mps_terminations() - what tells the servers in an answer to get_server_list to part with a client
 * @said: lines, of which those that are numbers count
 * @text: "terminate_client SERVER CLIENT" for each; "" for none
 */
void gsb_mps_terminations(const char *said, pid_t client, char *text, size_t size);

#endif
