import Foundation
public import Strata

/// A warehouse in three versions. Nodes with the models of ``First`` continue when the store gets those of ``Second``, and
/// stop when it gets those of ``Third``.
public enum Warehouse {
    public enum First {
        @Model public final class Item {
            @Attribute(.unique) public var name: String
            public var count: Int = 0
        }

        public static let models: [any Model.Type] = [Item.self]
    }

    /// With an index, and without other changes.
    public enum Indexed {
        @Model(.index("count")) public final class Item {
            @Attribute(.unique) public var name: String
            public var count: Int = 0
        }

        public static let models: [any Model.Type] = [Item.self]
    }

    /// With new attributes, between and after the others, an index, and new models.
    public enum Second {
        @Model(.index("count")) public final class Item {
            @Attribute(.unique) public var name: String
            public var rank: Int = 7
            public var count: Int = 0
            public var note: String?
            public var place: String = "it's \"here\" \\"
        }

        @Model public final class Shelf {
            public var label: String
            @Relationship(deleteRule: .cascade, inverse: \Box.shelf) public var boxes: Many<Box>
        }

        @Model public final class Box {
            @Attribute(.unique) public var number: Int
            public var shelf: Shelf?
            @Attribute(.externalStorage) public var photo: Data?
        }

        public static let models: [any Model.Type] = [Item.self, Shelf.self, Box.self]
    }

    /// With another name, another type, a reference to an old model, and a step.
    public enum Third {
        @Model(originalName: "Item") public final class Article {
            @Attribute(.unique) public var name: String
            @Attribute(originalName: "count") public var amount: Double
            public var note: String = ""
            @Attribute(.externalStorage) public var photo: Data?
            public var box: Box?
        }

        @Model public final class Box {
            @Attribute(.unique) public var number: Int
            @Relationship(inverse: \Article.box) public var articles: Many<Article>
        }

        public static let models: [any Model.Type] = [Article.self, Box.self]
        public static let migration = Migration().step("boxes") { database in
            let first = try database.newIDs(1).lowerBound
            try database.execute("INSERT INTO Box (id, number) VALUES (?, 1)", first)
            try database.execute("UPDATE Article SET box = ?, note = note || '!'", first)
        }
    }
}
