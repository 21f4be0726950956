import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataCloud
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("Changes of operations", .timeLimit(.minutes(1))) struct OperationChangeTests {
    /// The path of the page that asks for a confirmation of a change of operations.
    private static func path(_ change: String, _ ids: some Sequence<Int64>) -> String {
        "/operations/change?change=\(change)" + ids.map { "&id=\($0)" }.joined()
    }

    @Test("All failed operations are retried after a confirmation with their number, in the name of the person")
    func retryAll() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true, pipelines: ["photos", "photos"])
        try await fixture.fail("photos")
        try await ConsoleFixture.enqueue(["photos"], on: fixture.stack)
        try await fixture.run { client in
            let list = try await client.get("/operations?state=failed&pipeline=photos")
            let link = try #require(list.text.firstMatch(of: /operations\/change\?change=retry&amp;state=failed[^"]*/))
            let address = String(link.output).replacingOccurrences(of: "&amp;", with: "&")
            let page = try await client.get("/" + address)
            #expect(page.status == .ok)
            #expect(page.text.contains("Retry: 2 operations"))
            #expect(page.text.contains("<dt>Pipeline</dt><dd>photos</dd>"))
            let answer = try await client.post(try #require(page.changePath), try #require(page.confirmation))
            #expect(answer.status == .seeOther)
            let redirect = try #require(answer.redirect)
            #expect(redirect.hasPrefix("/operations?state=failed&pipeline=photos&notice="))
            #expect(try await client.get(redirect).text.contains("2 operations were retried."))
            #expect(try await fixture.statuses() == [.pending, .pending, .pending])
            let commit = try #require(try await fixture.stack.history().last)
            #expect(commit.author == "ada")
            let entry = try #require(fixture.log.entries.last(where: { $0.level == .notice }))
            #expect(entry.metadata["strata.action"] == "operations/retry")
            #expect(entry.metadata["strata.count"] == "2")
            #expect(entry.metadata["strata.objects"] == "state=failed, pipeline=photos")
        }
    }

    @Test("Selected operations are held, released, given a priority, skipped and deleted")
    func selected() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true, pipelines: Array(repeating: "photos", count: 5))
        let ids = try await fixture.ids()
        try await fixture.run { client in
            let list = try await client.get("/operations?pipeline=photos")
            #expect(list.text.contains(#"<input type="checkbox" name="id" value="\#(ids[0])""#))
            #expect(list.text.contains(#"<button type="submit" name="change" value="set-priority">"#))
            func change(_ name: String, _ ids: some Sequence<Int64>, _ values: String = "") async throws -> String {
                let asked = try await client.get(Self.path(name, ids) + "&pipeline=photos")
                let form = try #require(asked.confirmation)
                let answer = try await client.post(try #require(asked.changePath), form + values)
                let redirect = try #require(answer.redirect)
                // The person returns to the filtered list, or to a single operation that still exists.
                let ids = Array(ids)
                let page = ids.count == 1 ? "/operation?id=\(ids[0])" : "/operations?pipeline=photos"
                #expect(redirect.hasPrefix(page + "&notice="))
                return try await client.get(redirect).text
            }
            #expect(try await change("hold", ids[0..<2], "&hold=audit&for=2h").contains("2 operations were held."))
            let holds = try await fixture.stack.background { try $0.column(OperationHold.all, \.name) }
            #expect(holds == ["audit", "audit"])
            let released = try await change("release", ids[0..<3], "&hold=audit")
            #expect(released.contains("2 operations were released from &#39;audit&#39;."))
            #expect(released.contains("1 operation stayed as before."))
            #expect(try await change("set-priority", ids[1..<2], "&priority=-3").contains("given the priority -3"))
            let priorities = try await fixture.stack.background { context in
                try context.column(QueuedOperation.all, \.priority)
            }
            #expect(priorities == [0, -3, 0, 0, 0])
            #expect(try await change("skip", ids[3..<4]).contains("1 operation was skipped."))
            let deleted = try await change("delete", ids[3...])
            #expect(deleted.contains("1 operation was deleted. 1 operation stayed as before."))
            #expect(try await fixture.ids() == Array(ids[0..<3]))
            let finished = try await fixture.stack.background { try $0.count(FinishedOperation.all) }
            #expect(finished == 1)
        }
    }

    @Test("The log has the values of a change")
    func values() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let token = try #require(try await client.get("/operation?id=\(id)").formToken)
            let changes = [
                (path: "operations/hold?id=\(id)", form: "&hold=audit&for=120m", values: "hold=audit, for=2h"),
                (path: "operations/set-priority?id=\(id)", form: "&priority=5", values: "priority=5"),
                (path: "pipelines/limit-rate?pipeline=photos", form: "&value=10/1m", values: "rate=10/1m"),
            ]
            for change in changes {
                let answer = try await client.post("/actions/\(change.path)", "form-token=\(token)" + change.form)
                #expect(answer.status == .seeOther, "\(change.path)")
                let entry = try #require(fixture.log.entries.last(where: { $0.level == .notice }))
                #expect(entry.metadata["strata.values"] == "\(change.values)")
            }
        }
    }

    @Test("A confirmation is refused if it is old, if more operations match since, and if it is missing")
    func stale() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            let page = try await client.get("/operations/change?change=hold&pipeline=photos")
            let (path, form) = (try #require(page.changePath), try #require(page.confirmation))
            let token = try #require(page.formToken)
            try await ConsoleFixture.enqueue(["photos"], on: fixture.stack)
            let grown = try await client.post(path, form)
            #expect(grown.status == .conflict)
            #expect(grown.text.contains("Nothing was changed: the confirmation is too old"))
            #expect(try await client.post(path, "form-token=\(token)").status == .conflict)
            #expect(try await client.post(path, "form-token=\(token)&count=9").status == .conflict)
            let old = Int64(Date().timeIntervalSince1970) - OperationConfirmation.lifetime - 60
            #expect(try await client.post(path, "form-token=\(token)&count=9&shown=\(old)").status == .conflict)
            #expect(try await fixture.stack.background { try $0.count(OperationHold.all) } == 0)
            // Fewer operations than confirmed are no reason to refuse.
            let again = try await client.get("/operations/change?change=hold&pipeline=photos")
            let ids = try await fixture.ids()
            try await fixture.stack.background { context in
                var gone = OperationFilter(at: Date())
                gone.ids = [ids[0]]
                try context.batchDelete(gone.query)
            }
            #expect(try await client.post(path, try #require(again.confirmation)).status == .seeOther)
            #expect(try await fixture.stack.background { try $0.count(OperationHold.all) } == 1)
        }
    }

    @Test("Forms without the secret, forms of other sites and wrong values are refused, and change nothing")
    func refusals() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let token = try #require(try await client.get(Self.path("delete", [id])).formToken)
            let path = "/actions/operations/delete?id=\(id)"
            let form = "form-token=\(token)"
            #expect(try await client.post(path, "").status == .forbidden)
            #expect(try await client.post(path, form, [.origin: "https://example.com"]).status == .forbidden)
            #expect(try await client.post(path, form, [HeaderNames.secFetchSite: "cross-site"]).status == .forbidden)
            #expect(try await client.get(path).status == .methodNotAllowed)
            for wrong in ["", "?id=0", "?id=x", "?state=finished", "?type=Letter", "?lane=one", "?age=1h"] {
                #expect(
                    try await client.post("/actions/operations/delete\(wrong)", form).status == .badRequest,
                    "\(wrong)"
                )
                let query = wrong.replacingOccurrences(of: "?", with: "&")
                let page = try await client.get("/operations/change?change=delete\(query)")
                #expect(page.status == .badRequest, "\(wrong)")
            }
            #expect(try await client.get("/operations/change?change=nothing&id=\(id)").status == .badRequest)
            #expect(try await client.post("/actions/operations/set-priority?id=\(id)", form).status == .badRequest)
            #expect(
                try await client.post("/actions/operations/hold?id=\(id)", form + "&for=soon").status == .badRequest
            )
            #expect(
                try await client.post("/actions/operations/hold?id=\(id)", form + "&hold=start").status == .badRequest
            )
            // An operation that has not failed, and one that does not exist.
            let retry = try await client.post("/actions/operations/retry?id=\(id)&pipeline=photos", form)
            #expect(retry.status == .conflict)
            #expect(retry.text.contains("operation \(id) exists, and its status is &#39;pending&#39;."))
            #expect(retry.text.contains(#"<a href="../../operations?pipeline=photos">Back to the list</a>"#))
            let ofPage = try await client.post("/actions/operations/retry?id=\(id)&from=operation", form)
            #expect(ofPage.text.contains(#"<a href="../../operation?id=\#(id)">Back to the operation</a>"#))
            let skip = try await client.post("/actions/operations/skip?id=\(id + 1)", form)
            #expect(skip.status == .conflict)
            #expect(skip.text.contains("the store has no operation \(id + 1)"))
            // The form with the check boxes, of which none is marked.
            let list = try await client.get("/operations?pipeline=photos")
            #expect(list.text.contains(#"<input type="hidden" name="marked" value="yes">"#))
            let unmarked = try await client.get("/operations/change?change=delete&pipeline=photos&marked=yes")
            #expect(unmarked.status == .badRequest)
            #expect(unmarked.text.contains("Select operations first"))
            #expect(unmarked.text.contains(#"<a href="../operations?pipeline=photos">Back to the list</a>"#))
            let many = (1...(OperationTarget.greatestIDs + 1)).map { "&id=\($0)" }.joined()
            #expect(try await client.get("/operations/change?change=skip\(many)").status == .badRequest)
            #expect(try await fixture.statuses() == [.pending])
            let none = try await client.get(Self.path("retry", [id]))
            #expect(none.status == .ok && none.changePath == nil)
            #expect(none.text.contains("The change concerns no operation."))
        }
    }

    @Test("A console that may not change the store asks for no confirmation, and changes nothing")
    func readOnly() async throws {
        let fixture = try await ConsoleFixture()
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client async throws in
            #expect(try await client.get(Self.path("delete", [id])).status == .forbidden)
            let form = "form-token=\(fixture.console.access.formToken)"
            #expect(try await client.post("/actions/operations/delete?id=\(id)", form).status == .forbidden)
            #expect(try await fixture.ids() == [id])
        }
    }

    @Test("Before operations of an account are skipped or deleted, the page warns of the lost changes")
    func accounts() async throws {
        let fixture = try await ConsoleFixture(
            allowsChanges: true,
            pipelines: ["cloud.alice", "photos"],
            models: CloudAccount.models
        )
        try await fixture.run { client in
            let warning = "these changes never reach the remote"
            for change in ["skip", "delete"] {
                let account = try await client.get("/operations/change?change=\(change)&pipeline=cloud.alice")
                #expect(account.text.contains(warning), "\(change)")
                let all = try await client.get("/operations/change?change=\(change)&state=pending")
                #expect(all.text.contains(warning), "\(change)")
                let other = try await client.get("/operations/change?change=\(change)&pipeline=photos")
                #expect(other.status == .ok && !other.text.contains(warning), "\(change)")
            }
            let hold = try await client.get("/operations/change?change=hold&pipeline=cloud.alice")
            #expect(hold.status == .ok && !hold.text.contains(warning))
        }
    }
}
