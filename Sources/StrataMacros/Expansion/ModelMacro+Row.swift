import SwiftSyntax
import SwiftSyntaxBuilder

extension ModelMacro {
    /// Generates `Row`: a struct with the values of an object.
    ///
    /// `Row` is declared `nonisolated`, because a nested type does not inherit its class's isolation if the module's
    /// default isolation is the main actor.
    static func rowType(of model: ParsedModel) -> DeclSyntax {
        let access = model.memberAccess.prefix
        let columns = model.columns
        var members = ["\(access)var id: Strata.ObjectID<\(model.text)>"]
        members += columns.map { declaration(of: $0, model) }
        members += [
            valuesInitializer(of: model), readingInitializer(of: model), binding(of: model), partialBinding(of: model),
            value(of: model),
            setting(of: model), copying(of: model), differences(of: model), decodingInitializer(of: model),
            encoding(of: model),
        ]
        if !model.externals.isEmpty { members.append(external(of: model)) }
        return "\(raw: SourceText.block("\(access)nonisolated struct Row: Strata.ModelRow", members))"
    }

    /// The declaration of a column. A derived column has the getter of the user's property, because the getter's names
    /// are also columns of the row.
    private static func declaration(of column: Property, _ model: ParsedModel) -> String {
        let declaration = "\(model.access(of: column).prefix)var \(column.text): \(column.stored)"
        let getter = column.isDerived ? column.declaration.bindings.first?.accessorBlock : nil
        return declaration + (getter.map { " \($0.trimmedDescription)" } ?? "")
    }

    /// The value of a column in a row, wrapped with its transformer if there is one.
    private static func held(_ column: Property, of row: String) -> String {
        let value = "\(row).\(column.text)"
        return column.transformer.map { "Strata.RowSupport.transformed(\(value), by: \($0).self)" } ?? value
    }

    /// The parameters have no labels, because some keywords need backticks as a label.
    private static func valuesInitializer(of model: ParsedModel) -> String {
        let access = model.storedColumns.map { model.access(of: $0) }.reduce(.internal, min)
        let parameters = model.storedColumns.map { ", _ \($0.text): \($0.stored)" }.joined()
        return SourceText.block(
            "\(access.prefix)init(_ id: Strata.ObjectID<\(model.text)>\(parameters))",
            ["self.id = id"] + model.storedColumns.map { "self.\($0.text) = \($0.text)" }
        )
    }

    private static func readingInitializer(of model: ParsedModel) -> String {
        // The first column of the statement is the id.
        let reads = assignments(of: model, "reader.read", firstIndex: 1)
        var lines = ["self.id = reader.read(Strata.ObjectID<\(model.text)>.self, at: 0)"]
        if !reads.isEmpty {
            lines.append(
                SourceText.block("do", reads) + " catch { throw reader._$locate(error, in: \(model.text).self) }"
            )
        }
        return SourceText.block("\(model.memberAccess.prefix)init(_$from reader: Strata.RowReader) throws", lines)
    }

    /// Sets each column to the result of a function that takes the column's type and index.
    private static func assignments(of model: ParsedModel, _ function: String, firstIndex: Int = 0) -> [String] {
        model.columns.enumerated().filter { !$1.isDerived }.map { index, column in
            let read = "\(function)(\(column.columnType).self, at: \(index + firstIndex))"
            let value =
                column.transformer == nil
                ? read : "Strata.RowSupport.value(of: \(read), as: \(column.type.expression).self)"
            return "self.\(column.text) = try \(value)"
        }
    }

    private static func decodingInitializer(of model: ParsedModel) -> String {
        SourceText.block(
            "\(model.memberAccess.prefix)init(_$decoding decoder: Strata.RowDecoder) throws",
            ["self.id = try decoder.decode(Strata.ObjectID<\(model.text)>.self)"]
                + assignments(of: model, "decoder.decode")
        )
    }

    private static func encoding(of model: ParsedModel) -> String {
        SourceText.block(
            "\(model.memberAccess.prefix)func _$encode(to encoder: inout Strata.RowEncoder) throws",
            model.columns.enumerated().map { "try encoder.encode(\(held($1, of: "self")), at: \($0))" }
        )
    }

    // These functions take a pointer to the row and read single columns. A method of the row would be called with a
    // copy.
    private static func binding(of model: ParsedModel) -> String {
        SourceText.block(
            "\(model.memberAccess.prefix)static func _$bind("
                + "_ row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws",
            ["try unsafe binder.bind(row.pointee.id, at: 1)"]
                + model.columns.enumerated().map {
                    "try unsafe binder.bind(\(held($1, of: "row.pointee")), at: \($0 + 2))"
                }
        )
    }

    /// Binds the columns that an update sets to consecutive parameters, starting with the first one.
    private static func partialBinding(of model: ParsedModel) -> String {
        let bindings = model.columns.enumerated().map { index, column in
            SourceText.block(
                "if columns.contains(\(index))",
                ["index += 1", "try unsafe binder.bind(\(held(column, of: "row.pointee")), at: index)"]
            )
        }
        return SourceText.block(
            "\(model.memberAccess.prefix)static func _$bind(_ columns: Strata.ColumnSet, "
                + "of row: Swift.UnsafePointer<Self>, to binder: inout Strata.RowBinder) throws",
            bindings.isEmpty ? [] : ["var index: Int32 = 0"] + bindings
        )
    }

    private static func value(of model: ParsedModel) -> String {
        let cases = model.columns.enumerated().map { index, column in
            "case \(index): return try unsafe Strata.RowSupport.stored(\(held(column, of: "row.pointee")))"
        }
        return columnSwitch(
            "\(model.memberAccess.prefix)static func _$value("
                + "_ row: Swift.UnsafePointer<Self>, at column: Int) throws -> Strata.StoredValue",
            cases,
            of: model
        )
    }

    private static func setting(of model: ParsedModel) -> String {
        let cases = model.columns.enumerated().map { index, column in
            // A derived column cannot be set.
            if column.isDerived { return "case \(index): return" }
            let read = "Strata.RowSupport.value(value, as: \(column.columnType).self, at: \(index), of: self.id)"
            let value =
                column.transformer == nil
                ? read : "Strata.RowSupport.value(of: \(read), as: \(column.type.expression).self)"
            return "case \(index): self.\(column.text) = try \(value)"
        }
        return columnSwitch(
            "\(model.memberAccess.prefix)mutating func _$set(_ value: Strata.StoredValue, at column: Int) throws",
            cases,
            of: model
        )
    }

    private static func columnSwitch(_ head: String, _ cases: [String], of model: ParsedModel) -> String {
        let failure = "throw Strata.RowSupport.noColumn(column, of: \(model.text).self)"
        guard !cases.isEmpty else { return SourceText.block(head, [failure]) }
        return SourceText.block(head, ["switch column {"] + cases + ["default: \(failure)", "}"])
    }

    private static func external(of model: ParsedModel) -> String {
        let cases = model.columns.enumerated().compactMap { index, column in
            column.isExternal ? "case \(index): return self.\(column.text)" : nil
        }
        return SourceText.block(
            "\(model.memberAccess.prefix)func _$external(at column: Int) -> Strata.ExternalData?",
            ["switch column {"] + cases + ["default: return nil", "}"]
        )
    }

    private static func copying(of model: ParsedModel) -> String {
        SourceText.block(
            "\(model.memberAccess.prefix)mutating func _$copy(_ columns: Strata.ColumnSet, from other: Self)",
            model.columns.enumerated().filter { !$1.isDerived }.map { index, column in
                "if columns.contains(\(index)) { self.\(column.text) = other.\(column.text) }"
            }
        )
    }

    private static func differences(of model: ParsedModel) -> String {
        let head = "\(model.memberAccess.prefix)func _$differences(from other: Self) -> Strata.ColumnSet"
        guard !model.columns.isEmpty else { return SourceText.block(head, ["return Strata.ColumnSet()"]) }
        let comparisons = model.columns.enumerated().map { index, column in
            "if !\(isSame(column)) { columns.insert(\(index)) }"
        }
        return SourceText.block(head, ["var columns = Strata.ColumnSet()"] + comparisons + ["return columns"])
    }

    private static func isSame(_ column: Property) -> String {
        let values = "self.\(column.text), other.\(column.text)"
        if let transformer = column.transformer {
            return "Strata.RowSupport.isSame(\(values), by: \(transformer).self)"
        }
        return column.isExternal || column.type.isWellKnown
            ? "\(column.columnType)._$isSame(\(values))"
            : "Strata.RowSupport.isSame(\(values), as: \(column.columnType).self)"
    }
}
