public import Strata

extension Soak {
    /// The errors in the committed state, which the context must show.
    public static func audit(_ context: ObjectContext) throws -> [String] {
        var faults: [String] = []
        let accounts = try context.fetch(Account.all)
        let total = accounts.reduce(0) { $0 + $1.balance }
        if accounts.count != accountCount || total != accountCount * openingBalance {
            faults.append("\(accounts.count) accounts have \(total) together")
        }
        for account in accounts {
            let paid = try context.sum(account.payments.query, \.amount)
            if account.balance != openingBalance + account.settled + paid {
                faults.append("\(account.name) has \(account.balance), settled \(account.settled) and paid \(paid)")
            }
        }
        for (what, sql) in dangling {
            let found = try context.rows(sql).map {
                "\(try $0.value(Int64.self, at: 0)) \(try $0.value(Int64.self, at: 1))"
            }
            if !found.isEmpty { faults.append("\(what) lead nowhere: \(found.joined(separator: ", "))") }
        }
        let labels = try context.column(Item.all, \.label)
        if Set(labels).count != labels.count { faults.append("labels are there twice") }
        return faults + (try inspect(context))
    }

    /// Queries for references to missing objects.
    private static var dangling: [(String, SQL)] {
        [
            (
                "payments",
                "SELECT id, account FROM \(Payment.self) AS a WHERE account IS NOT NULL AND account NOT IN (SELECT id FROM \(Account.self) AS b)"
            ),
            (
                "shelves",
                "SELECT id, keeper FROM \(Shelf.self) AS a WHERE keeper IS NOT NULL AND keeper NOT IN (SELECT id FROM \(Keeper.self) AS b)"
            ),
            (
                "items",
                "SELECT id, shelf FROM \(Item.self) AS a WHERE shelf IS NOT NULL AND shelf NOT IN (SELECT id FROM \(Shelf.self) AS b)"
            ),
            (
                "notes",
                "SELECT id, item FROM \(Note.self) AS a WHERE item IS NOT NULL AND item NOT IN (SELECT id FROM \(Item.self) AS b)"
            ),
            (
                "tags of items",
                """
                SELECT owner, member FROM \(Item.columns.tags) AS p WHERE owner NOT IN (SELECT id FROM \(Item.self) AS a)
                OR member NOT IN (SELECT id FROM \(Tag.self) AS b)
                """
            ),
            (
                "items of lists",
                """
                SELECT owner, member FROM \(List.columns.items) AS p WHERE owner NOT IN (SELECT id FROM \(List.self) AS a)
                OR member NOT IN (SELECT id FROM \(Item.self) AS b)
                """
            ),
        ]
    }

    /// The errors in the objects of a context, which may have unsaved changes.
    public static func inspect(_ context: ObjectContext) throws -> [String] {
        var faults: [String] = []
        let items = try context.fetch(Item.all)
        // The column comes from a query, whereas objects calculate their titles.
        let titles = try context.column(Item.all, \.title)
        for (item, title) in zip(items, titles) where item.title != title {
            faults.append("\(item.id) is called \(title), not \(item.title); \(try story(of: item, context))")
        }
        for item in items {
            if item.photo != photo(item.photoSeed), try !isLost(item, context) {
                faults.append(
                    "\(item.id) has a photo of \(item.photo.map(\.count) ?? -1) bytes for \(item.photoSeed); \(try story(of: item, context))"
                )
            }
            if let note = item.note, note.item !== item {
                let other = note.item.map { "\($0.id)" } ?? "nobody"
                faults.append(
                    "\(item.id) has a note of another one: \(note.id), of \(other); \(try story(of: item, context))"
                )
            }
        }
        func compare(_ owner: String, _ members: [Item], _ inverse: [Item]) {
            if Set(members.map(\.id)) != Set(inverse.map(\.id)) || members.count != inverse.count {
                faults.append("\(owner) has \(members.map(\.id)), and is that of \(inverse.map(\.id))")
            }
        }
        for shelf in try context.fetch(Shelf.all) {
            compare("\(shelf.id)", try shelf.items.fetch(), items.filter { $0.shelf === shelf })
        }
        for tag in try context.fetch(Tag.all) {
            compare("\(tag.id)", try tag.items.fetch(), try items.filter { try $0.tags.contains(tag) })
        }
        for list in try context.fetch(List.all) {
            compare("\(list.id)", try list.items.fetch(), try items.filter { try $0.lists.contains(list) })
        }
        return faults
    }

    /// The state of an item in the object, in queries and in the store, before and after a merge.
    private static func story(of item: Item, _ context: ObjectContext) throws -> String {
        func look() throws -> String {
            let (number, label) = (item.id.rawValue, item.label)
            // A plain table name reads the store, without unsaved changes.
            let stored = try context.rows("SELECT label, photoSeed FROM Item WHERE id = \(number)")
            let found = try context.rows(Item.where { $0.label == label }).map { "\($0.id) \($0.photoSeed)" }
            let isSame = try context.find(item.id) === item
            let changed = item.changedValues.keys.sorted()
            return
                "label \(label) \(item.photoSeed), found \(found), stored \(stored), deleted \(item.isDeleted), same \(isSame), changed \(changed)"
        }
        let before = try look()
        try context.merge()
        return "\(before); after a merge \(try look())"
    }

    /// Whether an item with bytes was brought back although another process has committed its delete. A save of the
    /// item is refused. If bytes are lost otherwise, the run reports a fault.
    private static func isLost(_ item: Item, _ context: ObjectContext) throws -> Bool {
        // A plain table name reads the store, without unsaved changes.
        try item.photo == nil && context.rows("SELECT 1 FROM Item WHERE id = \(item.id.rawValue)").isEmpty
    }

    /// The differences between two digests, in a few words.
    public static func difference(_ digest: [String], from before: [String]) -> String {
        func text(_ lines: [String]) -> String { lines.isEmpty ? "nothing" : lines.prefix(5).joined(separator: ", ") }
        let (old, new) = (Set(before), Set(digest))
        return "\(text(digest.filter { !old.contains($0) })) instead of \(text(before.filter { !new.contains($0) }))"
    }

    /// All objects of a context, as lines.
    public static func digest(_ context: ObjectContext) throws -> [String] {
        var lines: [String] = []
        for item in try context.fetch(Item.all) {
            let weight = item.weight.map { "\($0)" } ?? "-"
            let place = item.shelf.map { "\($0.id)" } ?? "-"
            lines.append(
                "\(item.id) \(item.title) \(item.value) \(weight) \(item.photoSeed) \(item.photo?.count ?? 0) \(place)"
            )
        }
        for shelf in try context.fetch(Shelf.all) {
            let keeper = shelf.keeper.map { "\($0.id)" } ?? "-"
            lines.append("\(shelf.id) \(shelf.title) \(keeper): \(try shelf.items.fetch().map(\.id.rawValue))")
        }
        for tag in try context.fetch(Tag.all) {
            lines.append("\(tag.id) \(tag.name): \(try tag.items.fetch().map(\.id.rawValue))")
        }
        for list in try context.fetch(List.all) {
            lines.append("\(list.id) \(list.name): \(try list.items.fetch().map(\.id.rawValue))")
        }
        for note in try context.fetch(Note.all) {
            lines.append("\(note.id) \(note.text) \(note.item.map { "\($0.id)" } ?? "-")")
        }
        for keeper in try context.fetch(Keeper.all) { lines.append("\(keeper.id) \(keeper.name)") }
        return lines
    }
}
