// What of an interpreter's frame the observer reads: its operand stack, locals and names. The layout differs by version
// and is not part of Python's API, so everything that knows it is in frame_view.cpp.
#pragma once

#include <Python.h>

namespace tandem::python {

struct FrameView {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  PyObject* builtins = nullptr;
  PyObject** locals = nullptr;
  PyObject** cells = nullptr;  // by the numbers that instructions give them
  PyObject** base = nullptr;   // the first operand
  PyObject** top = nullptr;    // one past the last operand
  int depth = -1;              // operands; unknown where the interpreter does not say, and CodeMap does
  bool calledFromC = false;
};

/// Is the layout of this interpreter's frames known?
bool framesAreReadable();
/// Valid while the frame stands at the instruction that is reported to a trace function.
FrameView viewOf(PyFrameObject* frame);
/// Where it stands, in bytes; below 0 before its first instruction.
int offsetIn(PyFrameObject* frame);
/// The instructions as the compiler wrote them; a new reference.
PyObject* bytesOf(PyCodeObject* code);
/// Has a trace function called before every instruction of the frame, or none but of frames that it enters.
void reportInstructions(PyFrameObject* frame, bool on);
/// False if someone else stopped the reports of a code object that they were asked for.
bool reportsInstructions(PyCodeObject* code);
/// To be called before the trace function is set that is to be called for instructions.
void allowInstructionReports();
/// Does someone else watch what this thread runs: a debugger, a coverage tool, a profiler?
bool threadIsWatched();
/// Calls `visit` with what the interpreter made on entering the frame: cells of its own variables, the tuple and the
/// dict of further arguments.
void visitMadeOnEntry(const FrameView& frame, void (*visit)(void* context, PyObject* made), void* context);

}  // namespace tandem::python
