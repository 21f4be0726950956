import Foundation
import Testing

@Suite("Arguments of strata") struct ArgumentTests {
    @Test(
        "Wrong arguments have the exit status 64",
        arguments: [
            ["inspect"], ["inspect", "a", "b"], ["sql", "a"], ["--none"], ["inspect", "a", "--yes"], ["frobnicate"],
            ["inspect", ""], ["backup", "a", ""], ["jobs", "hold", "a", "1", "--name", ""], ["help", "nope"],
            ["help", "jobs", "nope"],
        ]
    )
    func wrong(_ arguments: [String]) async {
        let run = await ToolRun(arguments)
        #expect(run.status == 64)
        #expect(run.output.isEmpty)
        #expect(run.messages.hasPrefix("strata: "), "\(run.messages)")
        #expect(run.messages.contains("Usage: strata"), "\(run.messages)")
    }

    @Test("Help lists the commands", arguments: [["--help"], ["help"], [], ["help", "inspect"]])
    func help(_ arguments: [String]) async {
        let run = await ToolRun(arguments)
        #expect(run.status == 0)
        #expect(run.output.contains("inspect"))
        #expect(run.messages.isEmpty)
    }

    @Test("Shells get completion scripts with the commands", arguments: ["bash", "zsh", "fish"])
    func completion(_ shell: String) async {
        let run = await ToolRun("--generate-completion-script", shell)
        #expect(run.status == 0)
        #expect(run.output.contains("inspect"))
        #expect(run.output.contains("json"))
    }
}
