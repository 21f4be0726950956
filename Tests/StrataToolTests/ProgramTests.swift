import Foundation
import StoreModels
import Testing

@Suite("The program strata", .timeLimit(.minutes(2))) struct ProgramTests {
    @Test("The program prints the output of the command, and exits with its status")
    func program() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let sql = "SELECT title FROM Article ORDER BY title LIMIT 1"
        let process = try HelperProcess(helper: "strata", ["sql", url.path, sql, "--json"])
        let lines = await process.end()
        #expect(lines == [#"{"title":"Compilers"}"#])
        #expect(process.exitStatus == 0)
        let refused = try HelperProcess(helper: "strata", ["sql", url.path, "DELETE FROM Article"])
        let none = await refused.end()
        #expect(none.isEmpty)
        #expect(refused.exitStatus == 1)
        let wrong = try HelperProcess(helper: "strata", ["sql"])
        await wrong.wait()
        #expect(wrong.exitStatus == 64)
    }
}
