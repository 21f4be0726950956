import Foundation

/// A child of the walk as a struct.
struct ChildValues: Sendable {
    let id: Int64
    let parent: Int64
    let position: Int
    let weight: Double
    let label: String

    /// The hash of a child under the parent with this number, whoever holds them.
    static func hash(parent: Int, position: Int, weight: Double, label: String) -> RowHash {
        var hash = RowHash()
        hash.add(parent)
        hash.add(position)
        hash.add(weight)
        hash.add(label)
        return hash
    }

    static func weight(of number: Int) -> Double { Double(number) / 8 }
    static func label(of number: Int) -> String { "The label of child \(number)" }
}

extension Row {
    /// All children of each parent, one parent after the other.
    ///
    /// Children are stored in an order in which those of one parent lie apart. Equal: parents are in memory before the
    /// stopwatch runs; one query by the same index per parent, all in one read transaction or block, each child kept.
    static func walk(_ sizes: Sizes) -> Row {
        Row(
            work: .walk,
            name: "walk \(sizes.parents) parents with \(sizes.children) children",
            unit: .milliseconds,
            target: 1.5
        ) { round in
            do { try makeFamilies(round) }
            let database = try Database(round.file)
            let watch = Stopwatch()
            let statement = try database.prepare("SELECT id,parent,position,weight,label FROM child WHERE parent=?")
            let families = try database.transaction("BEGIN") {
                try (1...round.sizes.parents).map { parent in
                    statement.bind(parent, at: 1)
                    var children: [ChildValues] = []
                    while try statement.step() { children.append(ChildValues(statement)) }
                    return children
                }
            }
            let seconds = watch.seconds
            var check = Checksum()
            for child in families.joined() { check.add(child.hash(parent: Int(child.parent) - 1)) }
            return Sample(cost: seconds, check: check)
        }
    }

    static func makeFamilies(_ round: Round) throws {
        let database = try Database(round.file)
        try database.execute(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL);
            CREATE TABLE child (
                id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, position INTEGER NOT NULL, weight REAL NOT NULL,
                label TEXT NOT NULL
            );
            CREATE INDEX child_parent ON child(parent);
            """
        )
        try database.transaction {
            let parent = try database.prepare("INSERT INTO parent VALUES (?,?,?)")
            for number in 0..<round.sizes.parents {
                parent.bind(number + 1, at: 1)
                parent.bind(number, at: 2)
                try "The name of parent \(number)".withBytes { name in
                    parent.bind(name, at: 3)
                    try parent.run()
                }
            }
            let child = try database.prepare("INSERT INTO child VALUES (?,?,?,?,?)")
            for number in 0..<round.sizes.children {
                child.bind(number + 1, at: 1)
                child.bind(number % round.sizes.parents + 1, at: 2)
                child.bind(number / round.sizes.parents, at: 3)
                child.bind(ChildValues.weight(of: number), at: 4)
                try ChildValues.label(of: number).withBytes { label in
                    child.bind(label, at: 5)
                    try child.run()
                }
            }
        }
    }
}
