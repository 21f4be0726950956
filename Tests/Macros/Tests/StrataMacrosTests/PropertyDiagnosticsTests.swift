import Testing

@Suite("Diagnostics for properties of models")
struct PropertyDiagnosticsTests {
    @Test("A wrong declaration is diagnosed with a suggestion", arguments: declarations)
    func wrongDeclaration(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("A missing type is diagnosed, and a fix-it adds the type if a literal shows it", arguments: missingTypes)
    func missingType(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("A type that no column can have is diagnosed", arguments: types)
    func wrongType(_ wrong: WrongDeclaration) { wrong.check() }

    @Test(
        "A reserved name is diagnosed",
        arguments: [
            "id", "ID", "rowid", "OID", "_rowid_", "_$row", "_version", "_versionOf", "snapshot", "columns", "`self`",
            "`Self`", "`Type`", "`init`", "isDeleted", "isInserted", "hasChanges", "context", "`in`", "changedColumns",
            "sqlite_a", "strata_b",
        ]
    )
    func reservedName(_ name: String) {
        WrongDeclaration(name, property: "var \(name): String", at: name, "choose another name").check()
    }

    @Test(
        "Names that only look reserved are free",
        arguments: ["identifier", "ids", "version", "hash", "`where`", "limit"]
    )
    func freeName(_ name: String) {
        #expect(Diagnosis(of: WrongDeclaration.model(with: "var \(name): String")).diagnostics.isEmpty)
    }

    static let declarations: [WrongDeclaration] = [
        .init("let", property: "let a: Int = 1", at: "let", "write 'var'", fixed: "var a: Int = 1"),
        .init("lazy", property: "lazy var a: Int = 1", at: "lazy", "remove 'lazy'"),
        .init("weak", property: "weak var a: Author?", at: "weak", "remove 'weak'"),
        .init("unowned", property: "unowned var a: Author?", at: "unowned", "remove 'unowned'"),
        .init("several", property: "var a: Int, b: Int", at: "a: Int, b: Int", "a separate 'var' for each"),
        .init("tuple", property: "var (a, b): (Int, Int)", at: "(a, b)", "a separate 'var' for each"),
        .init(
            "observers",
            property: "var a: Int { didSet { b() } }",
            at: "{ didSet { b() } }",
            "observe the context"
        ),
        .init("transient without a value", property: "@Transient var a: Int", at: "a: Int", "give it a default value"),
    ]

    static let repetitions: [WrongDeclaration] = [
        .init(
            "attribute",
            property: "@Attribute(.unique) @Attribute(.notEmpty, .length(2...3)) var a: String",
            at: "@Attribute(.notEmpty, .length(2...3))",
            "write '@Attribute(.unique, .notEmpty, .length(2...3))'",
            fixed: "@Attribute(.unique, .notEmpty, .length(2...3)) var a: String"
        ),
        .init(
            "on separate lines, with a name",
            property: "@Attribute(.unique, originalName: \"b\")\n    @Strata.Attribute(.indexed)\n    var a: String",
            at: "@Strata.Attribute(.indexed)",
            "a property can have only one '@Attribute'",
            fixed: "@Attribute(.unique, .indexed, originalName: \"b\")\n    var a: String"
        ),
        .init(
            "two names",
            property: "@Attribute(originalName: \"b\") @Attribute(originalName: \"c\") var a: String",
            at: "@Attribute(originalName: \"c\")",
            "move these options to the first one"
        ),
        .init(
            "relationship",
            property: "@Relationship(inverse: \\B.a) @Relationship(deleteRule: .cascade) var a: Many<B>",
            at: "@Relationship(deleteRule: .cascade)",
            "write '@Relationship(deleteRule: .cascade, inverse: \\B.a)'",
            fixed: "@Relationship(deleteRule: .cascade, inverse: \\B.a) var a: Many<B>"
        ),
        .init(
            "derived",
            property: "@Derived @Derived(.indexed) var a: Int { 1 }",
            at: "@Derived(.indexed)",
            "write '@Derived(.indexed)'",
            fixed: "@Derived(.indexed) var a: Int { 1 }"
        ),
    ]

    @Test("A second macro of the same kind, which would be ignored, is diagnosed", arguments: repetitions)
    func repetition(_ wrong: WrongDeclaration) { wrong.check() }

    static let derived: [WrongDeclaration] = [
        .init("stored", property: "@Derived var a: Int = 1", at: "a: Int = 1", "write 'var a: String { … }'"),
        .init(
            "settable",
            property: "@Derived var a: Int { get { 1 } set {} }",
            at: "a: Int { get { 1 } set {} }",
            "has only a getter"
        ),
        .init(
            "throwing",
            property: "@Derived var a: Int { get throws { 1 } }",
            at: "a: Int { get throws { 1 } }",
            "has only a getter"
        ),
        .init("static", property: "@Derived static var a: Int { 1 }", at: "a: Int { 1 }", "has only a getter"),
        .init("name", property: "@Derived var id: Int { 1 }", at: "id", "choose another name"),
        .init(
            "timestamp",
            property: "@Derived(.indexed, .createdAt) var a: Date? { nil }",
            at: ".createdAt",
            "remove this"
        ),
        .init(
            "options of another macro",
            property: "@Derived @Attribute(.indexed) var a: Int { 1 }",
            at: "@Attribute(.indexed)",
            "write '@Derived(.indexed)'",
            fixed: "@Derived var a: Int { 1 }"
        ),
        .init("members", property: "var b: Many<B>; @Derived var a: Int { b.x }", at: "b", "stored in other objects"),
        .init(
            "own method",
            property: "func b() -> Int { 1 }; @Derived var a: Int { self.b() }",
            at: "b",
            "'b' is not a column"
        ),
        .init("plain property", property: "var b: Int { 1 }; @Derived var a: Int { b + 1 }", at: "b", "'@Derived' too"),
        .init("transient", property: "@Transient var b = 1; @Derived var a: Int { b }", at: "b", "not a column"),
        .init(
            "bytes",
            property: "@Attribute(.externalStorage) var b: Data?; @Derived var a: Bool { b == nil }",
            at: "b",
            "outside of the row"
        ),
    ]

    @Test("An invalid derived attribute is diagnosed", arguments: derived)
    func wrongDerived(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("Derived attributes can use columns, other derived attributes, static members and local names")
    func derivedFromColumns() {
        let source = """
            @Model final class A {
                var b: Int
                var c: Int { 1 }
                var d: D?
                static func e(_ f: Int) -> Int { f }
                @Derived(.indexed, .range(0...1)) var g: Int { let c = self.b; return A.e(c) }
                @Derived var h: Bool { get { d == nil && [1].map { c in c + g }.isEmpty } }
            }
            """
        #expect(Diagnosis(of: source).diagnostics.map(\.message) == [])
    }

    static let transformers: [WrongDeclaration] = [
        .init(
            "a value",
            property: "@Attribute(.transformed(by: hex)) var a: Color",
            at: ".transformed(by: hex)",
            "write its type"
        ),
        .init(
            "a timestamp",
            property: "@Attribute(.updatedAt, .transformed(by: T.self)) var a: Date?",
            at: ".updatedAt",
            "remove one of the two"
        ),
    ]

    @Test("Wrong transformers are diagnosed", arguments: transformers)
    func wrongTransformer(_ wrong: WrongDeclaration) { wrong.check() }

    static let missingTypes: [WrongDeclaration] = [
        .init("integer", property: "var a = -1", at: "a = -1", "write ': Int'", fixed: "var a: Int = -1"),
        .init("floating", property: "var a = 1.5", at: "a = 1.5", "write ': Double'", fixed: "var a: Double = 1.5"),
        .init("truth", property: "var a = true", at: "a = true", "write ': Bool'", fixed: "var a: Bool = true"),
        .init("text", property: "var a = \"b\"", at: "a = \"b\"", "': String'", fixed: "var a: String = \"b\""),
        .init("call", property: "var a = UUID()", at: "a = UUID()", "': UUID'", fixed: "var a: UUID = UUID()"),
        .init("unknown", property: "var a = make()", at: "a = make()", "write it after its name"),
    ]

    static let types: [WrongDeclaration] = [
        .init("tuple", property: "var a: (Int, Int)", at: "(Int, Int)", "write a struct"),
        .init("optional tuple", property: "var a: (b: Int, c: Int)?", at: "(b: Int, c: Int)?", "write a struct"),
        .init("function", property: "var a: () -> Void", at: "() -> Void", "write a method"),
        .init(
            "optional function",
            property: "var a: (@Sendable () -> Void)?",
            at: "(@Sendable () -> Void)?",
            "'@Transient'"
        ),
        .init("any", property: "var a: any P", at: "any P", "write that type"),
        .init("optional any", property: "var a: (any P)?", at: "(any P)?", "write that type"),
        .init("Any", property: "var a: Any?", at: "Any?", "write that type"),
        .init("composition", property: "var a: P & Q", at: "P & Q", "write that type"),
        .init("metatype", property: "var a: Int.Type", at: "Int.Type", "write an enum"),
        .init("implicitly unwrapped", property: "var a: B!", at: "B!", "write 'B?'", fixed: "var a: B?"),
        .init("optional of optional", property: "var a: B??", at: "B??", "write 'B?'", fixed: "var a: B?"),
        .init("id", property: "var a: ObjectID<B>?", at: "ObjectID<B>?", "write 'B?'", fixed: "var a: B?"),
        .init("Self", property: "var a: Self.Kind", at: "Self", "the name of the class"),
        .init("a name that the row has", property: "var a: Row?", at: "Row", "'MyModule.Row'"),
    ]
}
