import ArgumentParser

/// The form of a command's output.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line, for scripts.")
    var json = false
}
