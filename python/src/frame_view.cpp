#include "python/src/frame_view.h"

#include <initializer_list>

#if PY_VERSION_HEX >= 0x030A0000 && PY_VERSION_HEX < 0x030B0000
#define TANDEM_FRAMES_READABLE 1
#include <frameobject.h>
#elif PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#define TANDEM_FRAMES_READABLE 1
#define Py_BUILD_CORE 1
extern "C" {
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
}
#undef Py_BUILD_CORE
#else
#define TANDEM_FRAMES_READABLE 0
#endif

namespace tandem::python {

bool framesAreReadable() { return TANDEM_FRAMES_READABLE != 0; }

bool threadIsWatched() {
#if TANDEM_FRAMES_READABLE
  const PyThreadState* thread = PyThreadState_Get();
  return thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr;
#else
  return true;
#endif
}

#if !TANDEM_FRAMES_READABLE
FrameView viewOf(PyFrameObject*) { return {}; }
int offsetIn(PyFrameObject*) { return -1; }
PyObject* bytesOf(PyCodeObject*) { return nullptr; }
void visitMadeOnEntry(const FrameView&, void (*)(void*, PyObject*), void*) {}
#elif PY_VERSION_HEX < 0x030B0000
FrameView viewOf(PyFrameObject* frame) {
  FrameView v;
  v.code = frame->f_code;
  v.globals = frame->f_globals;
  v.builtins = frame->f_builtins;
  v.locals = frame->f_localsplus;
  v.cells = frame->f_localsplus + v.code->co_nlocals;
  v.base = frame->f_valuestack;
  v.depth = frame->f_stackdepth;
  v.top = v.base + v.depth;
  v.calledFromC = true;
  return v;
}
int offsetIn(PyFrameObject* frame) { return frame->f_lasti * static_cast<int>(sizeof(_Py_CODEUNIT)); }
PyObject* bytesOf(PyCodeObject* code) { return Py_NewRef(code->co_code); }
void visitMadeOnEntry(const FrameView& f, void (*visit)(void* context, PyObject* made), void* context) {
  const Py_ssize_t cells = PyTuple_GET_SIZE(f.code->co_cellvars);
  for (Py_ssize_t i = 0; i < cells; ++i)
    if (f.cells[i] != nullptr) visit(context, f.cells[i]);
  int next = f.code->co_argcount + f.code->co_kwonlyargcount;
  for (int flag : {CO_VARARGS, CO_VARKEYWORDS}) {
    if ((f.code->co_flags & flag) == 0) continue;
    PyObject* o = f.locals[next];
    // An argument that an inner function uses is in its cell only.
    for (Py_ssize_t i = 0; o == nullptr && i < cells && f.code->co_cell2arg != nullptr; ++i)
      if (f.code->co_cell2arg[i] == next) o = PyCell_GET(f.cells[i]);
    if (o != nullptr) visit(context, o);
    ++next;
  }
}
#else
FrameView viewOf(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  FrameView v;
#if PY_VERSION_HEX >= 0x030D0000
  v.code = _PyFrame_GetCode(f);
#else
  v.code = f->f_code;
#endif
  v.globals = f->f_globals;
  v.builtins = f->f_builtins;
  v.locals = v.cells = f->localsplus;
  v.base = f->localsplus + v.code->co_nlocalsplus;
#if PY_VERSION_HEX >= 0x030C0000
  // A call from C puts a frame of its own below.
  v.calledFromC = f->previous == nullptr || f->previous->owner == FRAME_OWNED_BY_CSTACK;
#else
  v.depth = f->stacktop - v.code->co_nlocalsplus;
  v.top = v.base + v.depth;
  v.calledFromC = f->is_entry;
#endif
  return v;
}
int offsetIn(PyFrameObject* frame) { return PyFrame_GetLasti(frame); }
PyObject* bytesOf(PyCodeObject* code) { return PyCode_GetCode(code); }
void visitMadeOnEntry(const FrameView& f, void (*visit)(void* context, PyObject* made), void* context) {
  const char* kinds = PyBytes_AS_STRING(f.code->co_localspluskinds);
  for (int i = 0; i < f.code->co_nlocalsplus - f.code->co_nfreevars; ++i)
    if ((kinds[i] & CO_FAST_CELL) != 0 && f.locals[i] != nullptr) visit(context, f.locals[i]);
  int next = f.code->co_argcount + f.code->co_kwonlyargcount;
  for (int flag : {CO_VARARGS, CO_VARKEYWORDS}) {
    if ((f.code->co_flags & flag) == 0) continue;
    PyObject* o = f.locals[next++];
    if (o != nullptr && PyCell_Check(o) && (kinds[next - 1] & CO_FAST_CELL) != 0) o = PyCell_GET(o);
    if (o != nullptr) visit(context, o);
  }
}
#endif

#if PY_VERSION_HEX >= 0x030C0000 && TANDEM_FRAMES_READABLE
void reportInstructions(PyFrameObject* frame, bool on) {
  auto* object = reinterpret_cast<PyObject*>(frame);
  frame->f_trace_lines = on ? 0 : 1;
  if (!on) {
    frame->f_trace_opcodes = 0;
    return;
  }
  if (frame->f_trace_opcodes != 0) return;
  // What turns the events on are the attributes. From 3.13 on the events are of a code object, and only that of a frame
  // with a trace function of its own gets them.
  const bool traced = frame->f_trace != nullptr;
  if (!traced) PyObject_SetAttrString(object, "f_trace", Py_True);
  PyObject_SetAttrString(object, "f_trace_opcodes", Py_True);
  if (!traced) PyObject_SetAttrString(object, "f_trace", Py_None);
  PyErr_Clear();
}
void allowInstructionReports() {
  // 3.12 asks when a trace function is set whether any frame ever wanted them.
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr || frame->f_trace_opcodes != 0) return;
  PyObject_SetAttrString(reinterpret_cast<PyObject*>(frame), "f_trace_opcodes", Py_True);
  PyErr_Clear();
  frame->f_trace_opcodes = 0;
}
#elif TANDEM_FRAMES_READABLE
void reportInstructions(PyFrameObject* frame, bool on) {
  frame->f_trace_opcodes = on ? 1 : 0;
  frame->f_trace_lines = on ? 0 : 1;
}
void allowInstructionReports() {}
#else
void reportInstructions(PyFrameObject*, bool) {}
void allowInstructionReports() {}
#endif

bool reportsInstructions(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030D0000 && TANDEM_FRAMES_READABLE
  constexpr int kTraceTool = 7;
  const _PyCoMonitoringData* data = code->_co_monitoring;
  return data != nullptr && (data->local_monitors.tools[PY_MONITORING_EVENT_INSTRUCTION] & (1 << kTraceTool)) != 0;
#else
  (void)code;
  return true;
#endif
}

}  // namespace tandem::python
