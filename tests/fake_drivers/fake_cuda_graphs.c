/* The fake driver's streams and graphs. A stream does everything at once, unless it captures: then
 * what it is given is recorded, and a launch of the graph does it in that order. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_parts.h"

static __thread struct fake_stream* g_capturing; /* the thread's stream that captures */

int fake_spoils_capture(void) {
  if (!g_capturing) return 0;
  g_capturing->spoilt = 1;
  return 1;
}

static int run(const struct fake_work* work) {
  return work->copier ? fake_copy(work) : fake_start(work);
}

static int record(struct fake_graph* graph, const struct fake_work* work) {
  const size_t params = work->copier ? 0 : work->function->parameter_bytes;
  struct fake_work* kept = malloc(sizeof *kept + params);
  if (!kept) return 2;
  *kept = *work;
  kept->next = NULL;
  if (params) kept->params = memcpy(kept + 1, work->params, params);
  if (graph->last) {
    graph->last->next = kept;
  } else {
    graph->first = kept;
  }
  graph->last = kept;
  return 0;
}

int fake_submit(struct fake_stream* stream, const struct fake_work* work) {
  if (!stream || !stream->recorded) return run(work);
  return stream->spoilt ? 901 : record(stream->recorded, work);
}

static void destroy(struct fake_graph* graph) {
  for (struct fake_work *work = graph->first, *next; work; work = next) {
    next = work->next;
    free(work);
  }
  free(graph);
}

API cuStreamCreate(struct fake_stream** stream, unsigned flags) {
  (void)flags;
  ENTER("cuStreamCreate");
  NEED_CONTEXT;
  *stream = calloc(1, sizeof **stream);
  return *stream ? 0 : 2;
}

/* 1: it captures (CUstreamCaptureStatus). For the fake cuBLASLt, which asks as the real one does.
 */
API cuStreamIsCapturing(struct fake_stream* stream, int* status) {
  *status = stream && stream->recorded;
  return 0;
}

API cuStreamDestroy_v2(struct fake_stream* stream) {
  ENTER("cuStreamDestroy_v2");
  if (!stream) return 400;
  if (stream->recorded) destroy(stream->recorded);
  if (g_capturing == stream) g_capturing = NULL;
  free(stream);
  return 0;
}

API cuStreamSynchronize(struct fake_stream* stream) {
  ENTER("cuStreamSynchronize");
  if (!stream || !stream->recorded) return 0;
  stream->spoilt = 1;
  return 900;
}

/* Modes 0 to 2; each is taken for 1, of the calling thread. */
API cuStreamBeginCapture_v2(struct fake_stream* stream, int mode) {
  ENTER("cuStreamBeginCapture_v2");
  NEED_CONTEXT;
  if (mode < 0 || mode > 2) return 1;
  if (!stream) return 900;
  if (stream->recorded || g_capturing) return 401;
  stream->recorded = calloc(1, sizeof *stream->recorded);
  if (!stream->recorded) return 2;
  stream->spoilt = 0;
  g_capturing = stream;
  return 0;
}

API cuStreamEndCapture(struct fake_stream* stream, struct fake_graph** graph) {
  ENTER("cuStreamEndCapture");
  *graph = NULL;
  if (!stream || !stream->recorded) return 401;
  if (g_capturing != stream) return 908;
  g_capturing = NULL;
  if (stream->spoilt) {
    destroy(stream->recorded);
  } else {
    *graph = stream->recorded;
  }
  stream->recorded = NULL;
  return stream->spoilt ? 901 : 0;
}

API cuGraphInstantiateWithFlags(struct fake_graph** executable, const struct fake_graph* graph,
                                unsigned long long flags) {
  ENTER("cuGraphInstantiateWithFlags");
  NEED_CONTEXT;
  NOT_IN_CAPTURE;
  if (!graph || flags != 0) return 1;
  struct fake_graph* made = calloc(1, sizeof *made);
  if (!made) return 2;
  for (const struct fake_work* work = graph->first; work; work = work->next) {
    if (record(made, work) != 0) {
      destroy(made);
      return 2;
    }
  }
  *executable = made;
  return 0;
}

API cuGraphLaunch(const struct fake_graph* executable, struct fake_stream* stream) {
  ENTER("cuGraphLaunch");
  NEED_CONTEXT;
  if (!executable) return 400;
  if (stream && stream->recorded) { /* a driver could; gpuready has no graph in a graph */
    stream->spoilt = 1;
    return 900;
  }
  for (const struct fake_work* work = executable->first; work; work = work->next) {
    const int code = run(work);
    if (code != 0 || fake_sticky != 0) return code;
  }
  return 0;
}

API cuGraphExecDestroy(struct fake_graph* executable) {
  ENTER("cuGraphExecDestroy");
  if (!executable) return 400;
  destroy(executable);
  return 0;
}

API cuGraphDestroy(struct fake_graph* graph) {
  ENTER("cuGraphDestroy");
  if (!graph) return 400;
  destroy(graph);
  return 0;
}
