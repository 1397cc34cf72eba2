// The whole compiler on one page. A trace comes in as operations of `td` (import_trace.cpp); then, in this order,
//
//   canonicalize      one form for windows, writes, conversions and reductions
//   fold_conversions  a conversion of an exact conversion is one conversion
//   cse               equal operations become one
//   fuse              operations that share a pass over memory become regions
//   make_in_place     memory for writes and results, and the order that allows it
//   plan_memory       a place for every value
//   lower_to_plan     instructions over buffers
//
// No pass looks at the value of a scalar, and only exact algebra is done: results have the bits of eager.
//
//   TANDEM_DISABLE=fuse,cse   leaves out what passes improve; what later ones rely on is still done
//   TANDEM_DUMP=dir           writes the program after each pass to dir/plan<number>.<step>.<pass>.mlir
//   TANDEM_LOG=passes,plans   prints each pass's time and whether it changed anything; each plan
#include "passes/pipeline.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include <mlir/Pass/PassInstrumentation.h>
#include <mlir/Pass/PassRegistry.h>

#include "passes/plan_text.h"
#include "runtime/base/error.h"

namespace tandem::passes {

namespace {

// Is `word` in the comma-separated list that the environment variable holds?
bool listed(const char* variable, llvm::StringRef word) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return false;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ',');
  return llvm::is_contained(words, word);
}

std::string textOf(mlir::Operation* op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

// Times, logs and dumps passes. Only there when asked for: it prints the program after every pass.
class Observer : public mlir::PassInstrumentation {
 public:
  Observer() : number_(next()++), log_(listed("TANDEM_LOG", "passes")) {}

  void runBeforePass(mlir::Pass* pass, mlir::Operation* op) override {
    if (before_.empty()) dump("trace", before_ = textOf(op));
    (void)pass;
    start_ = std::chrono::steady_clock::now();
  }
  void runAfterPass(mlir::Pass* pass, mlir::Operation* op) override {
    std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start_;
    std::string after = textOf(op);
    if (log_)
      std::cerr << "tandem: plan " << number_ << ": " << pass->getName().str() << " " << time.count() << " us"
                << (after == before_ ? ", unchanged" : "") << "\n";
    dump(pass->getName(), after);
    before_ = std::move(after);
  }

 private:
  static std::atomic<int>& next() {
    static std::atomic<int> n{0};
    return n;
  }
  void dump(llvm::StringRef pass, const std::string& text) {
    if (const char* dir = std::getenv("TANDEM_DUMP"))
      std::ofstream(strcat(dir, "/plan", number_, ".", step_++, ".", pass.str(), ".mlir")) << text << "\n";
  }

  int number_;
  int step_ = 0;
  bool log_;
  std::string before_;
  std::chrono::steady_clock::time_point start_;
};

// What each pass did, for explain(): how many operations of each kind there were before and after.
class Summary : public mlir::PassInstrumentation {
 public:
  explicit Summary(std::string& text) : text_(text) {}

  void runBeforePass(mlir::Pass*, mlir::Operation* op) override {
    before_ = count(op);
    start_ = std::chrono::steady_clock::now();
  }
  void runAfterPass(mlir::Pass* pass, mlir::Operation* op) override {
    std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start_;
    std::map<llvm::StringRef, int> after = count(op);
    std::string changes;
    for (auto& [kind, n] : before_) after.try_emplace(kind, 0);
    for (auto& [kind, n] : after) {
      int was = before_[kind];
      if (was != n) changes += strcat(changes.empty() ? "" : ", ", kind.str(), " ", was, " -> ", n);
    }
    text_ += strcat("  pass ", pass->getName().str(), ": ", changes.empty() ? "kinds of operation as before" : changes,
                    " (", static_cast<long>(time.count()), " us)\n");
  }

 private:
  static std::map<llvm::StringRef, int> count(mlir::Operation* function) {
    std::map<llvm::StringRef, int> kinds;
    for (mlir::Operation& op : function->getRegion(0).front()) ++kinds[op.getName().stripDialect()];
    return kinds;
  }

  std::string& text_;
  std::map<llvm::StringRef, int> before_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

bool isEnabled(llvm::StringRef pass) { return !listed("TANDEM_DISABLE", pass); }

void addPasses(mlir::OpPassManager& manager, Plan* plan, bool keepsAlignments) {
  manager.addPass(createCanonicalize(isEnabled("canonicalize")));
  if (isEnabled("fold_conversions")) manager.addPass(createFoldConversions());
  if (isEnabled("cse")) manager.addPass(createCse());
  manager.addPass(createFuse(isEnabled("fuse"), plan != nullptr ? plan->device : Device{}, keepsAlignments));
  manager.addPass(createMakeInPlace(isEnabled("make_in_place")));
  manager.addPass(createPlanMemory(isEnabled("plan_memory")));
  manager.addPass(createLowerToPlan(plan));
}

void runPipeline(mlir::func::FuncOp function, Plan& plan, bool keepsAlignments) {
  mlir::PassManager manager(function.getContext(), mlir::func::FuncOp::getOperationName());
#ifdef NDEBUG
  manager.enableVerifier(false);
#endif
  if (std::getenv("TANDEM_DUMP") != nullptr || listed("TANDEM_LOG", "passes"))
    manager.addInstrumentation(std::make_unique<Observer>());
  std::string did;
  manager.addInstrumentation(std::make_unique<Summary>(did));
  addPasses(manager, &plan, keepsAlignments);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(function.getContext(), [&](mlir::Diagnostic& d) {
    diagnostics += d.str() + "\n";
    return mlir::success();
  });
  if (mlir::failed(manager.run(function))) fail<InternalError>("a graph cannot be compiled: ", diagnostics);
  plan.explanation += did;
  if (listed("TANDEM_LOG", "plans")) std::cerr << planText(plan);
}

void registerPasses() {
  mlir::registerPass([] { return createCanonicalize(); });
  mlir::registerPass([] { return createFoldConversions(); });
  mlir::registerPass([] { return createCse(); });
  mlir::registerPass([] { return createFuse(); });
  mlir::registerPass([] { return createMakeInPlace(); });
  mlir::registerPass([] { return createPlanMemory(); });
  mlir::registerPass([] { return createLowerToPlan(); });
  mlir::PassPipelineRegistration<>("td-pipeline", "All of the compiler", [](mlir::OpPassManager& manager) {
    addPasses(manager.nest<mlir::func::FuncOp>(), nullptr);
  });
}

}  // namespace tandem::passes
