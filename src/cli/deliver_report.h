// The end of a command: its result, written in the forms that were asked for.
#pragma once

#include "base/clock.h"
#include "cli/options.h"

namespace gpuready::cli {

// `report` is any result that src/report/ has `to_json` and `render_terminal` of, and perhaps
// `render_markdown` and `render_html`. `start` is when the command began.
template <typename Report>
int deliver_report(Envelope envelope, const Report& report, Clock::time_point start,
                   const Globals& globals) {
  envelope.duration_ms = elapsed_ms(start);
  const auto terminal = [&](const TerminalStyle& style) {
    if constexpr (requires { render_terminal(report, envelope, style); })
      return render_terminal(report, envelope, style);
    else
      return render_terminal(report, style);
  };
  Delivery delivery{.envelope = envelope,
                    .json = [&] { return to_json(report, envelope); },
                    .terminal = terminal};
  if constexpr (requires { render_markdown(report, envelope); })
    delivery.markdown = [&] { return render_markdown(report, envelope); };
  if constexpr (requires { render_html(report, envelope); })
    delivery.html = [&] { return render_html(report, envelope); };
  return deliver(delivery, globals);
}

}  // namespace gpuready::cli
