import Foundation
import StoreModels
import Testing

@Suite("strata plan", .timeLimit(.minutes(2))) struct PlanCommandTests {
    @Test("The plan names indexes and scans")
    func plan() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let search = await ToolRun("plan", url.path, "SELECT title FROM Article WHERE author = 1")
        #expect(search.status == 0, "\(search.messages)")
        #expect(search.lines == ["SEARCH Article USING INDEX Article_author_index (author=?)"])
        let scan = await ToolRun("plan", url.path, "SELECT title FROM Article", "--json")
        let step = try #require(try scan.objects().first)
        #expect(Set(step.keys) == ["id", "parent", "detail"])
        #expect(step["detail"] as? String == "SCAN Article")
        #expect(step["parent"] as? Int == 0)
    }

    @Test("Parts of a step are indented")
    func nested() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let sql = "SELECT title FROM Article UNION SELECT name FROM Author"
        let run = await ToolRun("plan", url.path, sql)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.contains { $0.hasPrefix("  ") })
    }

    @Test("A wrong query is refused, and a plan changes nothing")
    func refused() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        for sql in ["SELEC", "SELECT 1; DELETE FROM Article"] {
            let run = await ToolRun("plan", url.path, sql)
            #expect(run.status == 1)
            #expect(run.messages.hasPrefix("strata: invalidQuery: "), "\(run.messages)")
        }
        _ = await ToolRun("plan", url.path, "DELETE FROM Article")
        #expect(try folder.image() == before)
    }
}
