import Foundation
import StoreModels
import Testing

@Suite("Stores for the tests of the console in a browser", .timeLimit(.minutes(2))) struct SampleStoreTests {
    private func make(_ command: String, in folder: ScratchFolder) async throws -> URL {
        let url = folder.file("sample.sqlite")
        let process = try HelperProcess(helper: "strata-sample", [command, url.path])
        #expect(await process.end() == ["done"])
        return url
    }

    @Test("The stores have no faults", arguments: ["make", "make-hostile"])
    func faultless(_ command: String) async throws {
        let folder = try ScratchFolder()
        let url = try await make(command, in: folder)
        let check = await ToolRun("check", url.path)
        #expect(check.status == 0, "\(check.messages)")
    }

    @Test("The store has operations of the states that the pages of queues show")
    func states() async throws {
        let folder = try ScratchFolder()
        let url = try await make("make", in: folder)
        let jobs = await ToolRun("jobs", "list", url.path, "--json")
        let states = Set(try jobs.objects().compactMap { $0["status"] as? String })
        #expect(states.isSuperset(of: ["failed", "held", "pending", "waiting"]), "\(states)")
        let queues = await ToolRun("queues", url.path, "--json")
        let names = Set(try queues.objects().compactMap { $0["pipeline"] as? String })
        #expect(names.isSuperset(of: ["backups", "letters", "photos"]), "\(names)")
    }

    @Test("A process obeys lines until its input ends")
    func control() async throws {
        let folder = try ScratchFolder()
        let url = try await make("make", in: folder)
        // The helper has no input, and so it ends at once.
        let process = try HelperProcess(helper: "strata-sample", ["control", url.path])
        #expect(await process.end() == ["ready", "done"])
        let filled = try HelperProcess(helper: "strata-sample", ["fill", folder.file("large.sqlite").path, "25"])
        #expect(await filled.end() == ["done"])
        let queues = await ToolRun("queues", folder.file("large.sqlite").path, "--json")
        #expect(try queues.objects().reduce(0) { $0 + ($1["queued"] as? Int ?? 0) } == 125)
    }
}
