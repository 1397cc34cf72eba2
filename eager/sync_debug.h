// What happens where the host waits for a device because the program reads there: nothing, a warning, or an error.
#pragma once

#include <atomic>

namespace tandem {

enum class SyncDebug : int { Default, Warn, Error };

/// `tandem.cuda.set_sync_debug_mode`. Of the process.
inline std::atomic<SyncDebug> syncDebug = SyncDebug::Default;

}  // namespace tandem
