// Warnings to the user: said by operations, shown by whoever the program is written in.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_set>

namespace tandem {

/// Shows a warning; null until someone does. May throw, where warnings are made errors.
inline void (*warningShower)(const std::string& text) = nullptr;

inline void warn(const std::string& text) {
  if (warningShower != nullptr) warningShower(text);
}

/// Show each text of `warnOnce` every time? `set_warn_always`.
inline std::atomic<bool> warnsAlways = false;

/// The texts of `warnOnce` that were shown. Thread-safe.
class SaidOnce {
 public:
  static bool insert(const std::string& text) {
    const std::scoped_lock lock(all().mutex_);
    return all().texts_.insert(text).second;
  }
  static bool contains(const std::string& text) {
    const std::scoped_lock lock(all().mutex_);
    return all().texts_.contains(text);
  }

 private:
  static SaidOnce& all() {
    static SaidOnce texts;
    return texts;
  }
  std::mutex mutex_;
  std::unordered_set<std::string> texts_;
};

/// Is this the first time that the text is to be shown, or are all shown?
inline bool firstTime(const std::string& text) { return SaidOnce::insert(text) || warnsAlways; }

/// One that is shown the first time alone.
inline void warnOnce(const std::string& text) {
  if (firstTime(text)) warn(text);
}

}  // namespace tandem
