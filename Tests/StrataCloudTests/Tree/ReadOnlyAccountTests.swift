import Foundation
import StoreModels
import Strata
import StrataCloud
import Testing

@Suite("Accounts of a read-only stack", .timeLimit(.minutes(1))) struct ReadOnlyAccountTests {
    @Test("Opening an account throws readOnly, and asks the remote nothing")
    func opening() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("tree.sqlite"))
        let writer = try await ContextStack.open(location, models: CloudAccount.models, stack: .rootOnly)
        let reader = try await ContextStack.open(
            location,
            models: CloudAccount.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true)
        )
        let remote = StrictRemote()
        let error = await #expect(throws: StrataError.self) {
            _ = try await CloudAccount.open(reader, id: "alice", remote: remote, handler: TestHandler())
        }
        #expect(error?.code == .readOnly)
        #expect(remote.requests.isEmpty)
        try await reader.close()
        try await writer.close()
    }
}
