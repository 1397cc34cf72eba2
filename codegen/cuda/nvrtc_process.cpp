// tandem-nvrtc: compiles the texts that come through its standard input, a socket (nvrtc_messages.h), until nobody is
// at the other end.
#include <unistd.h>

#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/nvrtc_messages.h"
#include "runtime/base/error.h"

using namespace tandem;
using namespace tandem::codegen::cuda;

int main() {
  std::string text;
  std::string name;
  std::string architecture;
  while (receiveText(STDIN_FILENO, text) && receiveText(STDIN_FILENO, name) &&
         receiveText(STDIN_FILENO, architecture)) {
    std::string error;
    Compiled compiled;
    try {
      compiled = compileHere(text, name, architecture);
    } catch (const InternalError& e) {
      error = e.what();
    } catch (const Error&) {
      break;  // no text's fault: whoever asked finds out by himself
    }
    if (!sendText(STDIN_FILENO, error) || !sendText(STDIN_FILENO, compiled.code) ||
        !sendText(STDIN_FILENO, compiled.log))
      break;
  }
  _exit(0);
}
