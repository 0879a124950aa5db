/*
 * Chime as a guest of GLib's main loop: a GSource with the queue's descriptor. Handlers run inside the loop, on its thread. The
 * source owns the queue, which ends with it. A forked child makes a GMainContext of its own: the inherited one shares its
 * wake-ups with the parent's.
 *
 * Build:  make build/glib_guest (libglib2.0-dev)
 * Run:    build/glib_guest
 *
 * Output:
 *   GLib's timeout; Chime's tick
 *   in the child: GLib's timeout; Chime's tick
 *   and then: GLib's timeout; Chime's tick
 */
#include "check.h"

#include <glib.h>
#include <sys/wait.h>
#include <unistd.h>
typedef struct guest {
  GSource source;
  chime_queue_t queue;
} guest;
static GMainLoop *loop;

static gboolean dispatch(GSource *source, GSourceFunc function, gpointer data) {
  chime_status status = chime_queue_process(((guest *)source)->queue, 0, NULL);
  if (!CHIME_FAILED(status) || status == CHIME_ERROR_BUSY) return G_SOURCE_CONTINUE;
  g_warning("the queue: %s", chime_status_message(status)); /* a handler has ended it, say */
  return G_SOURCE_REMOVE;
}

static void finalize(GSource *source) { CHECK(chime_queue_shutdown(((guest *)source)->queue, CHIME_FOREVER)); }

static guest *attach(GMainContext *context) {
  static GSourceFuncs functions = {.dispatch = dispatch, .finalize = finalize};
  guest *made = (guest *)g_source_new(&functions, sizeof(guest));
  int32_t fd;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &made->queue));
  CHECK(chime_queue_fd(made->queue, &fd));
  g_source_add_unix_fd(&made->source, fd, G_IO_IN);
  g_source_attach(&made->source, context);
  return made;
}

static void on_tick(const chime_tick *tick, void *context) { puts("Chime's tick"), g_main_loop_quit(loop); }

static gboolean on_timeout(gpointer g) {
  printf("GLib's timeout; ");
  CHECK(chime_timer_after(((guest *)g)->queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL));
  return G_SOURCE_REMOVE;
}

static void run(GMainContext *context, guest *g, const char *text) {
  GSource *timeout = g_timeout_source_new(1);
  g_source_set_callback(timeout, on_timeout, g, NULL);
  g_source_attach(timeout, context);
  g_source_unref(timeout);
  printf("%s", text);
  loop = g_main_loop_new(context, FALSE);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  fflush(stdout);
}

int main(void) {
  GMainContext *context = NULL;
  guest *g = attach(context);
  int status = 0;
  pid_t child;
  run(context, g, "");
  child = fork();
  if (child == 0) context = g_main_context_new();
  if (child == 0) CHECK(chime_reinitialize());
  if (child == 0) g = attach(context);
  if (child != 0 && waitpid(child, &status, 0) != child) return 1;
  run(context, g, child == 0 ? "in the child: " : "and then: ");
  g_source_destroy(&g->source); /* out of the loop */
  g_source_unref(&g->source);   /* and finalized */
  return status != 0;
}
