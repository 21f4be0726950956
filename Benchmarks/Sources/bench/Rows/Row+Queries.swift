import Foundation

extension Row {
    /// Every row of a large table, one after the other, in bounded memory.
    ///
    /// Equal: all ten columns of each row are decoded, the last one alone is kept, in one transaction or block.
    static func stream(_ sizes: Sizes, objects: Bool) -> Row {
        Row(
            work: objects ? .streamObjects : .streamRows,
            name: "stream \(sizes.streamed) \(objects ? "objects" : "rows")",
            unit: .milliseconds,
            target: objects ? 1.8 : 1.5
        ) { round in
            do { try EntryTable.makeLarge(round) }
            let database = try Database(round.file)
            let watch = Stopwatch()
            var check = Checksum()
            var last: EntryValues?
            let statement = try database.prepare(EntryTable.select)
            try database.transaction("BEGIN") {
                while try statement.step() {
                    let entry = EntryValues(statement)
                    check.add(number: entry.serial)
                    last = entry
                }
            }
            return withExtendedLifetime(last) { Sample(cost: watch.seconds, check: check) }
        }
    }

    /// Parents with all of their children: two statements, and none while walking.
    ///
    /// Equal: everything is read from the file that has just been opened; children are put under their parents.
    static func prefetch(_ sizes: Sizes) -> Row {
        Row(
            work: .prefetch,
            name: "fetch \(sizes.parents) parents with \(sizes.children) children, and walk",
            unit: .milliseconds,
            target: 1.7
        ) { round in
            do { try makeFamilies(round) }
            let database = try Database(round.file)
            let watch = Stopwatch()
            var check = Checksum()
            try database.transaction("BEGIN") {
                let parents = try database.prepare("SELECT id,number,name FROM parent")
                var numbers: [(id: Int, number: Int)] = []
                var families: [Int: [ChildValues]] = [:]
                while try parents.step() {
                    numbers.append((parents.integer(0), parents.integer(1)))
                    families[parents.integer(0)] = []
                    _ = parents.text(2)
                }
                let children = try database.prepare(
                    "SELECT id,parent,position,weight,label FROM child WHERE parent IN (SELECT id FROM parent)"
                )
                while try children.step() { families[children.integer(1)]?.append(ChildValues(children)) }
                for parent in numbers {
                    for child in families[parent.id] ?? [] { check.add(child.hash(parent: parent.number)) }
                }
            }
            return Sample(cost: watch.seconds, check: check)
        }
    }

    /// Groups of a table with three totals each.
    static func group(_ sizes: Sizes) -> Row {
        Row(
            work: .group,
            name: "group \(sizes.fetched) rows, with having",
            unit: .milliseconds,
            target: 1.1
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.fetched)
            let watch = Stopwatch()
            let statement = try database.prepare(
                """
                SELECT flags, count(*), sum(quantity), avg(weight) FROM entry GROUP BY flags HAVING count(*) > 1 \
                ORDER BY count(*) DESC, flags
                """
            )
            var check = Checksum()
            while try statement.step() {
                check.add(
                    GroupHash.hash(statement.integer(0), statement.integer(1), statement.integer(2), statement.real(3))
                )
            }
            return Sample(cost: watch.seconds, check: check)
        }
    }

    /// Pages of a sorted list, the first of them after a quarter of the rows.
    ///
    /// Equal: each page has 50 rows in the order of an index and the id. The reference begins each page by a condition
    /// on the last row of the page before, which it has kept.
    static func pages(_ sizes: Sizes) -> Row {
        Row(
            work: .pages,
            name: "\(sizes.pages) pages of 50, from page \(sizes.fetched / 4 / 50) of \(sizes.fetched) rows on",
            unit: .microseconds,
            target: nil,
            operations: sizes.pages
        ) { round in
            do { try ListingTable.make(round) }
            let database = try Database(round.file)
            let statement = try database.prepare(ListingTable.selectPage)
            var position = try ListingTable.position(round.sizes.fetched / 4, database)
            var check = Checksum()
            let watch = Stopwatch()
            for _ in 0..<round.sizes.pages {
                statement.bind(position.quantity, at: 1)
                statement.bind(position.id, at: 2)
                while try statement.step() {
                    position = (statement.integer(1), statement.integer(0))
                    check.add(ListingTable.hash(position.quantity, statement.text(2)))
                }
            }
            return Sample(cost: watch.seconds, check: check)
        }
    }
}

/// A list that is sorted by a column with an index.
enum ListingTable {
    /// The rows after those with a smaller quantity, or with the same quantity and a smaller or equal id.
    static let selectPage = """
        SELECT id,quantity,title FROM listing WHERE quantity >= ?1 AND (quantity > ?1 OR id > ?2) \
        ORDER BY quantity,id LIMIT 50
        """

    static func make(_ round: Round) throws {
        let database = try Database(round.file)
        try database.execute(
            """
            CREATE TABLE listing (id INTEGER PRIMARY KEY, quantity INTEGER NOT NULL, title TEXT NOT NULL);
            CREATE INDEX listing_quantity ON listing (quantity);
            """
        )
        try database.transaction {
            let statement = try database.prepare("INSERT INTO listing VALUES (?,?,?)")
            for entry in round.values.entries.prefix(round.sizes.fetched) {
                statement.bind(entry.id, at: 1)
                statement.bind(entry.quantity, at: 2)
                try entry.title.withBytes { title in
                    statement.bind(title, at: 3)
                    try statement.run()
                }
            }
        }
    }

    /// The last of the first rows.
    static func position(_ count: Int, _ database: Database) throws -> (quantity: Int, id: Int) {
        let sql = "SELECT quantity,id FROM listing ORDER BY quantity,id LIMIT 1 OFFSET \(count - 1)"
        let statement = try database.prepare(sql)
        guard try statement.step() else { throw BenchError("there are fewer than \(count) rows") }
        return (statement.integer(0), statement.integer(1))
    }

    static func hash(_ quantity: Int, _ title: String) -> RowHash {
        var hash = RowHash()
        hash.add(quantity)
        hash.add(title)
        return hash
    }
}

/// The hash of a group, whoever holds it.
enum GroupHash {
    static func hash(_ key: Int, _ count: Int, _ sum: Int, _ average: Double) -> RowHash {
        var hash = RowHash()
        hash.add(key)
        hash.add(count)
        hash.add(sum)
        hash.add(average)
        return hash
    }
}

extension ChildValues {
    init(_ row: borrowing Statement) {
        self.init(
            id: Int64(row.integer(0)),
            parent: Int64(row.integer(1)),
            position: row.integer(2),
            weight: row.real(3),
            label: row.text(4)
        )
    }

    func hash(parent: Int) -> RowHash {
        Self.hash(parent: parent, position: position, weight: weight, label: label)
    }
}

extension EntryValues {
    /// The same as another row.
    func numbered(_ serial: Int) -> EntryValues {
        var result = self
        result.id = Int64(serial) + 1
        result.serial = serial
        return result
    }
}

extension EntryTable {
    /// A file with the rows of the streaming rounds, which are too many to be in memory.
    static func makeLarge(_ round: Round) throws {
        let database = try Database(round.file)
        try database.execute(schema)
        let entries = round.values.entries
        try database.transaction {
            let statement = try database.prepare(insert)
            for number in 0..<round.sizes.streamed {
                try entries[number % entries.count].numbered(number).insert(by: statement)
            }
        }
    }
}
