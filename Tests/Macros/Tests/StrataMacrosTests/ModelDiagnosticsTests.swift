import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import Testing

@testable import TestedMacros

@Suite("Diagnostics for model declarations")
struct ModelDiagnosticsTests {
    @Test("A wrong class is diagnosed with a suggestion", arguments: classes)
    func wrongClass(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("Wrong arguments of @Model are diagnosed", arguments: options)
    func wrongOptions(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("Wrong members are diagnosed", arguments: members)
    func wrongMember(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("A correct class gets no diagnostics")
    func nothingWrong() {
        let source = """
            /// Documented.
            @Model(.unique("slug", "class"), table: "pages") nonisolated public final class Page: Identifiable {
                public private(set) var slug: String
                var `class`: Kind?
                static var shared: Int = 0
                @Transient lazy var cache = [String]()
                @Transient let constant = 1
                var computed: Int { 1 }
                @Attribute(.updatedAt) var changed: Optional<Foundation.Date>
                @Relationship(deleteRule: .deny, inverse: \\Outer.Part.page) var parts: Strata.Many<Outer.Part>
                convenience init(slug: String, _ more: Int) { self.init(slug: slug) }
                func sorted() {}
                func willInsert(in context: ObjectContext) {}
                private func didFetch(in store: Strata.ObjectContext) {}
                deinit {}
            }
            """
        #expect(Diagnosis(of: source).diagnostics.map(\.message) == [])
    }

    @Test("More than 128 columns are diagnosed", arguments: [128, 129])
    func tooManyColumns(count: Int) throws {
        // The members are not expanded here, because each expansion would read the whole class again.
        let members = (0..<count).map { "var c\($0): Int\n" }.joined()
        let declaration = DeclSyntax("@Model final class Wide {\n\(raw: members)}")
        let model = try #require(declaration.as(ClassDeclSyntax.self))
        let node = try #require(model.attributes.first?.as(AttributeSyntax.self))
        let context = BasicMacroExpansionContext()
        ModelChecks(node: node, declaration: model, context: context).run()
        #expect(context.diagnostics.map(\.node.trimmedDescription) == (count > 128 ? ["Wide"] : []))
        for diagnostic in context.diagnostics {
            #expect(diagnostic.message.contains("at most 128 columns, and this one has 129"))
        }
    }

    static let classes: [WrongDeclaration] = [
        .init(
            "struct",
            "@Model public struct A {\n    var b: Int\n}",
            at: "struct",
            "write 'final class'",
            fixed: "@Model public final class A {\n    var b: Int\n}"
        ),
        .init("actor", "@Model\nactor A {}", at: "actor", "write 'final class'", fixed: "@Model\nfinal class A {}"),
        .init("enum", "@Model enum A { case b }", at: "enum", "write 'final class'"),
        .init("extension", "@Model extension A {}", at: "@Model", "attach it to the class itself"),
        .init("not final", "@Model\nclass A {}", at: "class", "write 'final class'", fixed: "@Model\nfinal class A {}"),
        .init(
            "public, not final",
            "@Model public class A {}",
            at: "class",
            "write 'final class'",
            fixed: "@Model public final class A {}"
        ),
        .init(
            "open",
            "@Model open class A {}",
            at: "open",
            "write 'public final'",
            fixed: "@Model public final class A {}"
        ),
        .init("generic", "@Model final class A<T> {}", at: "<T>", "declare a model for each type"),
        .init("in a generic type", "struct B<T> {\n    @Model final class A {}\n}", at: "A", "move it out"),
        .init(
            "superclass",
            "@Model final class A: NSObject {}",
            at: "NSObject",
            "share code in a protocol",
            fixed: "@Model final class A {}"
        ),
        .init(
            "superclass and protocols",
            "@Model final class A: NSObject, B, C {}",
            at: "NSObject",
            "share code in a protocol",
            fixed: "@Model final class A: B, C {}"
        ),
        .init("override", "@Model final class A: B {\n    override func c() {}\n}", at: "override", "no superclass"),
        .init("Sendable", "@Model final class A: @unchecked Sendable {}", at: "@unchecked Sendable", "rows or ids"),
        .init(
            "main actor",
            "@Model @MainActor final class A {}",
            at: "@MainActor",
            "remove '@MainActor'",
            fixed: "@Model final class A {}"
        ),
        .init(
            "nested and private",
            "enum B {\n    @Model private final class A {}\n}",
            at: "private",
            "write 'fileprivate'",
            fixed: "enum B {\n    @Model fileprivate final class A {}\n}"
        ),
        .init("a name that generated code uses", "@Model final class Row {}", at: "Row", "choose another name"),
        .init("a table name of SQLite's", "@Model final class Sqlite_a {}", at: "Sqlite_a", "begin with sqlite_"),
    ]

    private static func model(_ arguments: String) -> String {
        "@Model(\(arguments)) final class Article {\n    var slug: String\n    var tags: Many<Tag>\n}"
    }

    static let options: [WrongDeclaration] = [
        .init("unknown column", model(".unique(\"slug\", \"title\")"), at: "\"title\"", "its columns are slug"),
        .init("column in another case", model(".index(\"Slug\")"), at: "\"Slug\"", "write 'slug'"),
        .init(
            "unknown column of those that have a value",
            model(".index(\"slug\", whereNotNil: \"title\")"),
            at: "\"title\"",
            "its columns are slug"
        ),
        .init("relationship without a column", model(".index(\"tags\")"), at: "\"tags\"", "name only columns"),
        .init("no columns", model(".index()"), at: ".index()", "write the names of properties"),
        .init("empty table", model("table: \"\""), at: "\"\"", "it is empty"),
        .init("Strata's table", model("table: \"strata_x\""), at: "\"strata_x\"", "begin with strata_"),
        .init("SQLite's table", model("table: \"SQLITE_x\""), at: "\"SQLITE_x\"", "begin with sqlite_"),
        .init("no original name", model("originalName: \"\""), at: "\"\"", "it is empty"),
    ]

    static let members: [WrongDeclaration] = [
        .init(
            "hook without context",
            property: "func willInsert() throws {}",
            at: "willInsert",
            "write 'func willInsert(in context: ObjectContext) throws'"
        ),
        .init(
            "hook that throws and may not",
            property: "func didFetch(in context: ObjectContext) throws {}",
            at: "didFetch",
            "write 'func didFetch(in context: ObjectContext)', which does not throw"
        ),
        .init(
            "asynchronous hook",
            property: "func willUpdate(in context: ObjectContext) async throws {}",
            at: "willUpdate",
            "write 'func willUpdate(in context: ObjectContext) throws'"
        ),
        .init(
            "static hook",
            property: "static func willDelete(in context: ObjectContext) {}",
            at: "willDelete",
            "write 'func willDelete(in context: ObjectContext)'"
        ),
        .init(
            "designated initialiser",
            property: "init() { slug = \"\" }",
            at: "init",
            "write 'convenience init'",
            fixed: "convenience init() { slug = \"\" }"
        ),
        .init(
            "designated initialiser with a modifier",
            property: "public init() {}",
            at: "init",
            "write 'convenience init'",
            fixed: "public convenience init() {}"
        ),
        .init(
            "condition",
            property: "#if DEBUG\n    var note: String\n    #endif",
            at: "var note: String",
            "move the property out of '#if'"
        ),
        .init("a type called Row", property: "struct Row {}", at: "Row", "choose another name"),
        .init("names that differ in case", property: "var SLUG: String", at: "SLUG", "differ only in case"),
    ]
}
