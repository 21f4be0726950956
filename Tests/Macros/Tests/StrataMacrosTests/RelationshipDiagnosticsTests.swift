import Testing

@Suite("Diagnostics for options and relationships")
struct RelationshipDiagnosticsTests {
    @Test("A wrong relationship is diagnosed with a suggestion", arguments: relationships)
    func wrongRelationship(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("An inverse that is not a key path of one component with its root is diagnosed", arguments: inverses)
    func wrongInverse(_ wrong: WrongDeclaration) { wrong.check() }

    @Test(
        "A check that fits the type is not diagnosed",
        arguments: [
            "@Attribute(.notEmpty, .length(1...2)) var a: String?", "@Attribute(.notEmpty) var a: URL",
            "@Attribute(.range(0...1)) var a: Decimal", "@Attribute(.range(0...1)) var a: Swift.UInt64?",
            "@Attribute(.length(1...2), .range(0...1)) var a: Kind", "@Attribute(.check(\"b\") { c }) var a: Bool",
        ]
    )
    func fittingCheck(_ property: String) {
        #expect(Diagnosis(of: WrongDeclaration.model(with: property)).diagnostics.map(\.message) == [])
    }

    @Test("A wrong option is diagnosed", arguments: options)
    func wrongOption(_ wrong: WrongDeclaration) { wrong.check() }

    static let relationships: [WrongDeclaration] = [
        .init(
            "not optional",
            property: "@Relationship var a: Author",
            at: "Author",
            "write 'Author?'",
            fixed: "@Relationship var a: Author?"
        ),
        .init("no model", property: "@Relationship var a: Int?", at: "@Relationship", "use '@Attribute'"),
        .init(
            "optional to-many",
            property: "var a: Many<B>?",
            at: "Many<B>?",
            "write 'Many<B>'",
            fixed: "var a: Many<B>"
        ),
        .init("to-many with a value", property: "var a: Many<B> = x", at: "= x", "remove this"),
        .init(
            "to-many with a setter",
            property: "private(set) var a: Many<B>",
            at: "private(set)",
            "remove 'private(set)'"
        ),
        .init(
            "ordered to-one",
            property: "@Relationship(ordered: true) var a: B?",
            at: "true",
            "remove 'ordered: true'"
        ),
        .init(
            "option of a column on a to-many",
            property: "@Relationship(.unique) var a: Many<B>",
            at: ".unique",
            "move it to the other side"
        ),
        .init(
            "option of a column on the derived side",
            property: "@Relationship(.required, inverse: \\B.c) var a: B?",
            at: ".required",
            "move it to the other side"
        ),
    ]

    static let inverses: [WrongDeclaration] = [
        .init(
            "no root",
            property: "@Relationship(inverse: \\.article) var a: Many<Comment>",
            at: "\\.article",
            "write '\\Comment.article'",
            fixed: "@Relationship(inverse: \\Comment.article) var a: Many<Comment>"
        ),
        .init(
            "several components",
            property: "@Relationship(inverse: \\Comment.article.author) var a: Many<Comment>",
            at: "\\Comment.article.author",
            "one component"
        ),
        .init(
            "optional chain",
            property: "@Relationship(inverse: \\Comment.article?.author) var a: Many<Comment>",
            at: "\\Comment.article?.author",
            "one component"
        ),
        .init("no literal", property: "@Relationship(inverse: path) var a: B?", at: "path", "write it as a key path"),
    ]

    static let options: [WrongDeclaration] = [
        .init(
            "bytes outside of the row of what are none",
            property: "@Attribute(.externalStorage) var a: String?",
            at: ".externalStorage",
            "'.externalStorage' needs 'Data' or 'Data?'"
        ),
        .init(
            "unique bytes outside of the row",
            property: "@Attribute(.externalStorage, .unique) var a: Data?",
            at: ".unique",
            "remove one of them"
        ),
        .init(
            "@Attribute on a to-many",
            property: "@Attribute(.indexed) var a: Many<B>",
            at: "@Attribute(.indexed)",
            "use '@Relationship'",
            fixed: "var a: Many<B>"
        ),
        .init(
            "createdAt on Date",
            property: "@Attribute(.createdAt) var a: Date",
            at: ".createdAt",
            "write 'Date?'",
            fixed: "@Attribute(.createdAt) var a: Date?"
        ),
        .init(
            "updatedAt on text",
            property: "@Attribute(.indexed, .updatedAt) var a: String?",
            at: ".updatedAt",
            "as 'Date?'"
        ),
        .init("text check of a number", property: "@Attribute(.notEmpty) var a: Int", at: ".notEmpty", "is for texts"),
        .init(
            "length of a date",
            property: "@Attribute(.length(1...2)) var a: Date?",
            at: ".length(1...2)",
            "for texts"
        ),
        .init("length of a list", property: "@Attribute(.length(1...2)) var a: [B]", at: ".length(1...2)", "for texts"),
        .init(
            "range of a text",
            property: "@Attribute(.range(0...1)) var a: String",
            at: ".range(0...1)",
            "for numbers"
        ),
        .init("range of a Bool", property: "@Attribute(.range(0...1)) var a: Bool", at: ".range(0...1)", "for numbers"),
        .init("original name", property: "@Attribute(originalName: \"\") var a: Int", at: "\"\"", "it is empty"),
        .init(
            "original name",
            property: "@Relationship(inverse: \\Cover.article, originalName: \"front\") var cover: Cover?",
            at: "\"front\"",
            "the column of this relationship is on the other side"
        ),
    ]
}
