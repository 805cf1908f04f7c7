/* SPDX-License-Identifier: MIT */
/* sim/world - machines, a network and time that are only thought of: the driver of the pure
 * rooms in a simulation, behind src/drive/drive.h. include/dibs/sim.h is its public face.
 *
 * Owns virtual time, fibers (the threads of programs), processes with clocks of their own,
 * the connections between them and the simulated server, and what happens to all of these.
 * May include everything below api/, api/handle.h to see what a process believes, and
 * sim/server. One thread; no clock, no socket, no chance but the seed's.
 *
 * Files: fiber.c stacks that are switched; world.c time and the loop; process.c programs,
 * machines and their clocks; drive.c the drive of one client, callbacks.c and canceller.c
 * parts of it; wire.c connections; host.c the machine of a server, ask.c its back door;
 * between.c what servers say to each other, watch.c sentinels and nodes that look after
 * each other, slots.c slots that move; fault.c what may happen; trace.c how it is told.
 *
 * Each thing that will happen is a timer in one heap; equal times go in the order of setting.
 * Draws come from streams of their own, so that one more draw in one place does not
 * reshuffle the rest. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <dibs/sim.h>

#include <stdarg.h>

#include "base/base.h"
#include "drive/drive.h"
#include "drive/jobs.h"
#include "server/memory.h"
#include "server/sim_server.h"
#include "world/fiber.h"

enum { HOSTS_MAX = 48, SHIPPED_MAX = 256 };

typedef struct process process;
typedef struct wire wire;
typedef struct host host;

/* What a timer in the world's heap is about. */
typedef enum sim_event {
  EVENT_WAKE = 1,      /* a thread has slept enough */
  EVENT_RESUME,        /* a process goes on */
  EVENT_DRIVE,         /* an engine's deadline, or a canceller */
  EVENT_OPEN,          /* a connection is made */
  EVENT_UP,            /* bytes reach the server */
  EVENT_DOWN,          /* bytes reach a client */
  EVENT_GONE,          /* the server misses a client that has vanished */
  EVENT_FAULT,
  EVENT_SERVER_UP,     /* goes on, or has started */
  EVENT_SERVER_TICK,
  EVENT_SHIP,          /* what a primary wrote reaches a replica, or its answer the primary */
  EVENT_BEAT,          /* a replica says that it is there */
  EVENT_WATCH,         /* sentinels, or nodes of a cluster, look at each other */
  EVENT_SLOT           /* a key of a slot on the move goes over */
} sim_event;

/* `owner`: of the kind of record that timer.kind, a sim_event, is about. */
typedef struct sim_timer {
  timer timer;
  void *owner;
} sim_timer;

/* A thread of a program. */
typedef struct thread {
  struct thread *next;             /* of its process */
  struct thread *next_ready;
  process *process;
  fiber *fiber;
  void (*program)(void *data);
  void *data;
  uint64_t number;
  sim_timer wake;
  const drive_waiter *waiter;      /* what it waits for; NULL: nothing */
  const drive_job *job;            /* the callback it runs */
  bool is_ready;
} thread;

typedef enum ending { ENDING_NONE = 0, ENDING_DONE, ENDING_KILLED, ENDING_VANISHED } ending;

struct process {
  process *next;
  dibs_sim *sim;
  int number;
  char name[32];
  uint64_t epoch;                  /* fork_epoch() inside */
  ending ending;
  thread *threads;
  drive *drives;
  random_source random;            /* of its programs */
  /* Its clock: `boot` at true time `set_at`, `ppm` too fast from then on. */
  int64_t boot_ns, set_at_ns;
  int32_t ppm;
  int64_t wall_offset_us;          /* wall - boot */
  int64_t paused_until;            /* true time; 0: runs */
  sim_timer resume;
  /* Its way to the server: true times until which. */
  int64_t held_until[2], holed_until[2], slow_until, refused_until;
  int32_t slow_ms;
  bool cuts_next_reply;
  int64_t apart_from[HOSTS_MAX];   /* nothing passes between it and that server */
};

enum { UP = 0, DOWN = 1 };         /* directions of a wire: to the server, to the client */

typedef struct chunk {
  struct chunk *next;
  int64_t due;
  size_t size;
  bool is_end;                     /* the other side has closed */
  char bytes[];
} chunk;

typedef struct stream {
  chunk *first, *last;
  sim_timer timer;
  bool has_hole;                   /* bytes were lost: nothing after them arrives */
  size_t untraced;                 /* of a script's text, whose name is in the trace already */
} stream;

/* A connection of an engine's link with the server. */
struct wire {
  wire *previous, *next;
  uint64_t number;
  process *process;
  host *host;                      /* NULL: the name leads nowhere */
  drive *drive;                    /* NULL: the client has let go of it */
  int link;
  sim_connection *server;          /* NULL: not accepted yet, or gone */
  bool is_open;
  sim_timer open, gone;
  stream streams[2];
};

struct drive {
  drive *next;                     /* of its process */
  process *process;
  memory memory;
  engine *engine;
  drive_handler handler;
  bool has_thread, has_callback_thread, is_closed, is_served;
  bool effects_are_over;           /* drive_end_effects() */
  int waiting;                     /* calls inside drive_wait() */
  instant alarm_at;                /* drive_alarm() */
  wire *wires[ENGINE_LINKS_MAX];
  sim_timer timer;
  drive_waiter *closer;
  struct watched *watched;
  drive_jobs jobs;
  thread *callbacks;               /* runs them */
};

/* ---- servers ---- */

/* On its way between a primary and a replica: an offset, and when it is there. */
typedef struct shipment {
  int64_t due;
  uint64_t offset;
  bool is_answer;                  /* from the replica: it has so much */
} shipment;

/* A machine with a server, or a sentinel. */
struct host {
  dibs_sim *sim;
  int number;                      /* from 1 */
  char name[16];
  int port;
  bool is_sentinel;
  sim_server *server;
  int64_t wall_us;                 /* its clock at true time 0 */
  bool is_down, keeps_data, fails_over;
  int64_t paused_until;
  int64_t condition_until[SIM_CONDITIONS];
  sim_timer up, tick;
  /* true times until which nothing passes: between it and programs, and other hosts */
  int64_t apart_from_programs, apart_from[HOSTS_MAX];
  /* As a replica: of whom it wants to be one, and what is on its way. */
  host *primary;
  int64_t lag_ns;
  shipment shipped[SHIPPED_MAX];   /* a ring, by time */
  size_t shipped_first, shipped_count;
  uint64_t shipped_offset;         /* put on the way last */
  sim_timer ship, beat;
  /* As a sentinel or a node: since when it has heard nothing of each other. */
  int64_t heard_at[HOSTS_MAX];
  int64_t reported_at;                 /* sentinel: when it learns of the newest primary; 0: no */
  int64_t seen_wrong_at;           /* primary of the past, seen by a sentinel; 0: no */
  uint64_t slot_version;           /* of its picture of the slots */
  int slot_count;                  /* its own, in truth */
  host *heir_of;                   /* whose slots it took over last */
};

typedef struct planned_fault {
  struct planned_fault *next;
  dibs_sim_fault fault;
  sim_timer timer;
} planned_fault;

struct dibs_sim {
  dibs_sim_options options;
  int64_t now;                     /* true time, ns since the start */
  timers events;
  size_t timer_count;
  random_source random_network, random_threads, random_ids, random_faults;
  uint64_t fingerprint, steps;
  uint64_t last_epoch, last_thread, last_wire;

  process *processes, **last_process;
  int process_count;
  thread *first_ready, *last_ready;
  thread *running;                 /* NULL: the loop itself */
  process *looking;                /* as whom a watch looks */

  wire *wires;
  host *hosts[HOSTS_MAX];
  int host_count;
  random_source random_hosts;      /* of worlds with several */
  /* watch.c: the primary that a majority believes in, or who replaces whom */
  host *elected;
  uint64_t epoch;
  int64_t election_at;             /* 0: none is under way */
  sim_timer watch_timer;
  /* slots.c: whom each slot belongs to in truth, by index; and how often that changed */
  uint16_t *slot_owner;
  uint64_t slot_version;
  struct slot_move *moves;
  int given_up_moves;              /* by a failover of the node that was to get the slot */

  planned_fault *faults;
  void (*watch)(dibs_sim *sim, void *data);
  void *watch_data;
  char *first_flaw;
  char *answer;                    /* of dibs_sim_server() */
  char line[1024];
};

/* ---- world.c ---- */
extern dibs_sim *sim_now;              /* the one there is; NULL: none */
void sim_timer_new(dibs_sim *sim, sim_timer *t, int kind, void *owner);
void sim_timer_set(dibs_sim *sim, sim_timer *t, int64_t at);
void sim_timer_end(dibs_sim *sim, sim_timer *t);     /* its room is given back */
void sim_mix(dibs_sim *sim, uint64_t value);     /* into the fingerprint */
void sim_mix_bytes(dibs_sim *sim, const void *bytes, size_t size);
bool sim_chance(random_source *r, int32_t per_mille);
sim_server *world_server(const dibs_sim *sim);   /* for oracles: the first */
host *world_host(const dibs_sim *sim);

/* ---- process.c ---- */
process *process_find(const dibs_sim *sim, int number);       /* NULL: none */
process *process_current(const dibs_sim *sim);                /* NULL: outside */
thread *thread_new(process *p, void (*program)(void *), void *data);
void thread_ready(thread *t);
/* Lets others run until ready again. From the thread itself. */
void thread_block(thread *t);
void thread_sleep(thread *t, int64_t ns);
void thread_preempt(dibs_sim *sim);
void threads_run(dibs_sim *sim);                              /* until none is ready */
void process_pause(process *p, int64_t ns);
void process_resume(process *p);
void process_end(process *p, ending how);
int64_t process_local_ns(const process *p, int64_t now);
int64_t process_true_ns(const process *p, int64_t local);     /* rounded up */
void process_rate(process *p, int32_t ppm);
/* The lease behind a hold, `C:K:T` and the name, as its client knows it; false: it is over. */
bool process_hold_lease(dibs_sim *sim, int number, const dibs_hold *hold, text *out);

/* ---- ask.c ---- */
/* A command of a client without a connection that lasts: it is executed at once, who listens
 * is told. The answer in RESP, valid until the next; NULL: the server is down or stopped. */
const char *world_command(dibs_sim *sim, const void *command, size_t size, size_t *ret_size);
/* The same to a host, of those there are. */
const char *world_command_at(dibs_sim *sim, host *h, const void *command, size_t size,
                             size_t *ret_size);

/* ---- drive.c ---- */
void drive_event(drive *d);
bool drive_serve(drive *d);            /* whether somebody may give it input now */
void drive_wire_up(drive *d, wire *w);
void drive_wire_down(drive *d, wire *w, const char *words);
void drive_wire_bytes(drive *d, wire *w, const void *bytes, size_t size);

/* ---- canceller.c ---- */
void cancellers_look(drive *d);
void cancellers_free(drive *d);

/* ---- callbacks.c ---- */
void callbacks_stop(drive *d);
void callbacks_drop(drive *d);         /* they never run */

/* ---- wire.c ---- */
void wire_new(drive *d, int link, const server_url *to);
void wire_send(wire *w, int direction, const void *bytes, size_t size, bool is_end);
void wire_let_go(wire *w);             /* by the client: the server hears of it later */
void wire_vanish(wire *w);             /* with the client; the server hears nothing */
void wire_reset(wire *w, const char *words);       /* both sides learn */
void wire_cut_late(wire *w, int64_t ns);
void wire_event(dibs_sim *sim, wire *w, int kind);
void wire_served(wire *w);             /* what had come while nobody looked comes now */
void wire_end_by_server(wire *w);      /* it has closed it, or died */
void wires_of_host_end(host *h);
void wire_free(wire *w);

/* ---- host.c ---- */
void hosts_new(dibs_sim *sim);
void hosts_free(dibs_sim *sim);
host *host_number(const dibs_sim *sim, int number);          /* NULL: none */
host *host_find(const dibs_sim *sim, const char *name, int port);      /* NULL: none */
int64_t host_wall_us(const host *h);
bool host_is_down(const host *h);
bool host_is_paused(const host *h);
void host_clock(host *h);              /* its server learns how late it is */
void host_receive(host *h, wire *w, const void *bytes, size_t size);
void host_hang_up(wire *w);
void host_flush(host *h);              /* sends what the server has for anybody */
void host_event(host *h, int kind);
void host_fault(dibs_sim *sim, const dibs_sim_fault *f);
void hosts_heal(dibs_sim *sim);

/* ---- between.c ---- */
bool hosts_are_apart(const host *a, const host *b);          /* or one of them does nothing */
/* `h` is to be a replica of `primary`: a complete copy as soon as they reach each other. */
void host_follow(host *h, host *primary);
void host_promote(host *h);
void host_throw_out(host *h);          /* its clients, as sentinels do */
void hosts_ship(host *primary);        /* what it wrote is on its way */
void between_event(host *h, int kind);

/* ---- watch.c ---- */
void watch_begin(dibs_sim *sim);
void watch_event(dibs_sim *sim);
/* An administrator's promotion; sentinels and nodes are told. */
void watch_promote(host *h);
void watch_heal(dibs_sim *sim);

static inline bool host_is_node(const host *h) { return h->sim->options.cluster_nodes > 0; }

/* ---- slots.c ---- */
void slots_begin(dibs_sim *sim);       /* shared out evenly */
bool slots_move(dibs_sim *sim, int hash_slot, host *to, int64_t ns);
void slots_event(dibs_sim *sim, struct slot_move *m);
/* A replica has taken over: all slots of `from` are those of `to`. */
void slots_owner_changed(dibs_sim *sim, host *from, host *to);
bool slots_is_stale(const host *h);
void slots_report(host *h);              /* it learns what the others know */
bool slots_has_any(const host *h);
void slots_free(dibs_sim *sim);

/* ---- fault.c ---- */
void fault_event(dibs_sim *sim, planned_fault *f);
void faults_free(dibs_sim *sim);
/* By their time; equal ones keep their order. */
void faults_sort(dibs_sim_fault *all, size_t count);

/* ---- trace.c ---- */
static inline bool trace_is_on(const dibs_sim *sim) { return sim->options.on_trace != NULL; }
void trace(dibs_sim *sim, const process *p, const char *format, ...) DIBS_PRINTF(3, 4);
void trace_list(dibs_sim *sim, const process *p, const char *format, va_list list);
void trace_bytes(dibs_sim *sim, wire *w, int direction, const char *bytes, size_t size);

#endif
