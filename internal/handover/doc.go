// Package handover passes the listening sockets of a process to the process that replaces it. A socket that two processes have goes on
// listening when one of them closes it: so no client's connection attempt is refused while a program is replaced.
//
// A Set has the sockets. The process binds all its addresses with it. Successor starts the next process with duplicates of them, and
// Inherit makes that process's Set. systemd's socket activation (sd_listen_fds(3)) fills a Set in the same way.
//
// Windows cannot pass sockets so: there a Set only binds addresses.
package handover
