import Foundation
import Strata
import Testing

/// Random histories of several contexts, compared with ``ReferenceModel`` after each step.
///
/// `STRATA_SAVING_SEED` and `STRATA_SAVING_WORLD` (`plain`, `full` or `undoing`) repeat one history.
/// `STRATA_SAVING_STEPS` sets the total number of steps, and `STRATA_SAVING_LENGTH` the number in each history.
/// `STRATA_SAVING_HISTORY` runs the history that a failure has printed.
@Suite struct SavingHistoryTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let steps = environment["STRATA_SAVING_STEPS"].flatMap { Int($0) }

    @Test(
        "Views, store and outcomes of random histories match the reference model",
        arguments: environment["STRATA_SAVING_WORLD"].flatMap(SavingHistory.ActionSet.init).map { [$0] } ?? [
            .plain, .full, .undoing,
        ]
    )
    func histories(_ actions: SavingHistory.ActionSet) async throws {
        if let text = Self.environment["STRATA_SAVING_HISTORY"] {
            var history = SavingHistory(text)
            history.isFollowed = true
            try await check(history, "the history given")
            return
        }
        if let seed = Self.environment["STRATA_SAVING_SEED"].flatMap({ UInt64($0) }) {
            try await check(seed, Self.steps ?? SavingHistory.length, actions)
            return
        }
        let length = Self.environment["STRATA_SAVING_LENGTH"].flatMap { Int($0) } ?? SavingHistory.length
        // CI repeats the same histories every time. A run with its own number of steps uses new histories every time.
        let first = Self.steps == nil ? 1 : UInt64.random(in: 1...UInt64(UInt32.max))
        let steps = Self.steps ?? (actions == .undoing ? 2400 : 960)
        for number in 0..<UInt64(max(1, steps / length)) {
            try await check(first + number, length, actions)
        }
    }

    @Test(
        "Histories that have failed once match the reference model",
        arguments: [
            // Two saves in a savepoint would drop the whole of a segment below it. None of them takes place.
            "other insert 220; other commit; network set 220 c 441; main set 220 c 451; "
                + "network savepoint taken back ( save theirs , save theirs )",
            // The same for the parent's segment, whose delete the saves would overrule.
            "root insert 90; root save; other set 90 b 111; root delete 90; other save mine; "
                + "main savepoint taken back ( save , set 90 b 118 , save )",
            // A delete and its undo are in different places of a layer, and the row changes beneath both.
            "root insert 740; root save; deep delete 740; deep save mine; deep undo; network insert 1180; deep save mine; "
                + "root set 740 b 1351",
            // A delete of a row that an undo has brought back.
            "other insert 20; other commit; other delete 20; other save; other undo; other delete 20; other undo; other redo; "
                + "other undo; other commit",
            "main insert 20; main commit; main delete 20; main commit; main undo; main delete 20; main undo; main save; root commit",
            // A row that an undo has brought back stays when a child commits a delete that lies beneath it.
            "network insert 130; deep delete 130; network delete 130; network save theirs; deep save; network undo; deep commit",
            // An undo removes a delete even over an insert of a child.
            "deep insert 80; deep save theirs; network delete 80; network undo; deep commit",
            // Edits made before one of two deletes count again.
            "root insert 530; other set 530 b 571; other commit theirs; other undo; network delete 530; other delete 530; "
                + "other save theirs; network save; network undo; network chain theirs",
            "root insert 20; main set 20 a 971; root commit theirs; network set 20 c 1001; main delete 20; root delete 20; "
                + "network chain mine",
            // A column was set back, and the row beneath is gone.
            "root insert 90; deep set 90 a 231; deep set 90 b 651; deep undo; root set 90 b 721; root delete 90; deep save mine",
            // Values that others have set beneath stay when an undo takes back a delete over the parent's delete.
            "other insert 20; other commit mine; other delete 20; root set 20 a 291; main delete 20; other undo; other save",
            // The saves in a savepoint of the parent would show a row that an undo has restored, or that is gone below.
            "root insert 10; root save; deep delete 10; main delete 10; root set 10 a 5; deep undo; main savepoint taken back ( save theirs )",
            "deep insert 120; deep commit; deep set 120 a 251; other delete 120; other save theirs; other undo; deep save mine; "
                + "network savepoint taken back ( save , set 460 b 744 )",
            "other insert 80; other commit; deep set 80 b 1031; main delete 80; root set 80 a 1281; "
                + "main savepoint taken back ( save theirs , save theirs ); deep save mine",
            // A row is restored over a delete. The values below the delete come into the store, or others have set
            // them.
            "other savepoint ( insert 634 , save theirs ); network set 634 b 671; other set 634 c 701; main delete 634; "
                + "network save mine; other commit theirs",
            "main insert 720; network delete 720; main savepoint ( set 720 c 783 , set 720 b 785 ); network save mine; network undo; "
                + "network save theirs",
            "deep insert 680; deep commit; network delete 680; network save theirs; network undo; root set 680 c 1211; deep chain mine",
            "root insert 560; main chain mine; main delete 560; root set 560 c 681; root delete 560; main undo; main chain mine",
            // A child deletes a row that another one has restored over an undone insert of the parent.
            "main insert 1190; network set 1190 c 1211; other savepoint ( delete 1190 ); main undo; network save mine; other commit mine; "
                + "main save mine",
            // A row that was restored, and deleted again before a save, is deleted.
            "network insert 190; deep chain; root set 190 a 571; main set 190 a 881; network delete 190; main delete 190; network undo; "
                + "network delete 190; network save theirs; network commit mine; network chain",
            // Two edits of one side are compared with the value that the first of them has seen.
            "root insert 160; root commit; deep set 160 b 471; other batch 128 177 b 492; deep save mine; network set 160 b 492; "
                + "network set 160 b 661; deep commit theirs; network save",
            // The same if three segments store the edits, and the middle one sets another column of the row.
            "root insert 10; root insert 20; root insert 30; root insert 40; root insert 50; root insert 60; root insert 70; "
                + "root insert 160; root commit; deep set 160 b 471; other batch 128 177 b 492; deep save mine; "
                + "network set 160 b 492; network set 10 a 1; network set 20 a 1; network set 30 a 1; network set 40 a 1; "
                + "network set 50 a 1; network set 60 a 1; network set 70 a 1; network set 160 a 2; network set 10 b 3; "
                + "network set 20 b 3; network set 160 b 661; deep commit theirs; network save",
            // A row that was inserted, deleted and inserted again is deleted once.
            "main insert 410; other set 410 a 531; main delete 410; main undo; other save mine; main undo; other commit mine; "
                + "deep chain theirs",
            // An edit meets an insert that was deleted again, in a chain.
            "root insert 10; main set 10 a 31; network delete 10; root delete 10; deep chain",
            // A row that was restored, then existed without the restore, and is gone again, stays gone.
            "main insert 510; network insert 540; network set 510 a 591; network undo; network chain theirs; network undo; "
                + "root delete 540; network redo; root undo; network save mine; root delete 540; main save mine",
            "network insert 120; deep chain; deep delete 120; root delete 120; deep undo; root undo; root delete 120; deep save; "
                + "network save mine",
            // A policy that keeps two deletes has seen the row below both.
            "root insert 110; deep delete 110; network delete 110; deep save; root set 110 b 721; network save mine; root commit mine; "
                + "deep commit",
            // A row that comes back by undo does not show an edit that was hidden when others deleted the row.
            "root insert 20; root commit; other set 20 a 5; deep delete 20; deep commit; other commit mine; deep set 20 b 571; "
                + "main delete 20; deep undo; deep undo",
            // The same if the hidden edit lies in another segment, and the row exists again before the commit.
            "root insert 20; root insert 30; root insert 40; root insert 50; root commit; other set 20 a 5; deep delete 20; "
                + "deep commit; other commit mine; other set 20 b 5; other commit; deep set 30 a 1; deep set 40 a 1; "
                + "deep set 50 a 1; deep set 20 b 571; main delete 20; main delete 30; main delete 40; main delete 50; "
                + "deep undo; deep undo; deep undo; deep undo; deep undo; main rollback; deep commit",
            // The same if the hidden edit is one that a child has saved.
            "root insert 20; root commit; other set 20 a 5; main delete 20; main commit; other commit mine; main set 20 b 571; "
                + "deep set 20 c 9; deep save; root delete 20; main undo; main undo; main commit mine",
            // Edits of one side around a child's value that a commit drops are compared with the value that the first of
            // them has seen.
            "root insert 90; main set 90 b 261; root set 90 b 481; root commit; root set 90 b 541; main save mine; "
                + "root set 90 b 631; main commit theirs; root commit theirs",
        ]
    )
    func fixed(_ history: String) async throws {
        for isFollowed in [false, true] {
            var history = SavingHistory(history)
            history.isFollowed = isFollowed
            try await check(history, "the fixed history, \(isFollowed ? "with" : "without") live queries")
        }
    }

    private func check(_ seed: UInt64, _ steps: Int, _ actions: SavingHistory.ActionSet) async throws {
        var history = SavingHistory(seed: seed, steps: steps, actions: actions)
        // Without live queries, the log keeps fewer events.
        history.isFollowed = seed.isMultiple(of: 2)
        try await check(
            history,
            "STRATA_SAVING_WORLD=\(actions) STRATA_SAVING_SEED=\(seed) STRATA_SAVING_STEPS=\(steps)"
        )
    }

    private func check(_ history: SavingHistory, _ origin: String) async throws {
        guard try await history.firstFailure() != nil else { return }
        let shortest = try await history.shortened()
        let failure = try await shortest.firstFailure()
        Issue.record("\(origin)\n\(failure?.text ?? "")\nafter\n\(shortest)")
    }
}
