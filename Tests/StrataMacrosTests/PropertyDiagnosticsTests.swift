import Testing

@Suite("What a property of a model cannot be")
struct PropertyDiagnosticsTests {
    @Test("A wrong declaration is diagnosed, with what to write instead", arguments: declarations)
    func wrongDeclaration(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("A missing type is diagnosed; where a literal shows it, a fix-it adds it", arguments: missingTypes)
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
        .init("several", property: "var a: Int, b: Int", at: "a: Int, b: Int", "a 'var' of its own for each"),
        .init("tuple", property: "var (a, b): (Int, Int)", at: "(a, b)", "a 'var' of its own for each"),
        .init(
            "observers",
            property: "var a: Int { didSet { b() } }",
            at: "{ didSet { b() } }",
            "observe changes of the context"
        ),
        .init("transient without a value", property: "@Transient var a: Int", at: "a: Int", "give it a default value"),
    ]

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
