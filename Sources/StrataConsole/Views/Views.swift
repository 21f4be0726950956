import Strata

/// A table. The partial `table` shows it, in a box that scrolls by itself.
struct Table: Sendable {
    struct Column: Sendable {
        let title: String
        let isNumber: Bool
    }

    struct Row: Sendable {
        /// Nil in a table without check boxes.
        let check: CheckBox?
        let cells: [Cell]
    }

    /// A check box before the cells of a row, in the form around the table.
    struct CheckBox: Sendable {
        let name: String
        let value: String
        let label: String
    }

    let caption: String
    let columns: [Column]
    private(set) var rows: [Row] = []
    /// The text instead of a table without rows.
    var whenEmpty = "Nothing is here."
    /// The links to the other pages of the table; nil for a table that has only one.
    var pager: Pager?

    private(set) var isEmpty = true
    /// Whether the rows have check boxes: all of them, or none.
    private(set) var hasChecks = false

    /// - Parameters:
    ///   - caption: what the rows are.
    ///   - first: the titles of the first columns.
    ///   - numbers: the titles of columns with numbers, after the first ones.
    ///   - last: the titles of further columns.
    init(_ caption: String, _ first: [String], numbers: [String] = [], _ last: [String] = []) {
        self.caption = caption
        columns =
            first.map { Column(title: $0, isNumber: false) } + numbers.map { Column(title: $0, isNumber: true) }
            + last.map { Column(title: $0, isNumber: false) }
    }

    /// Adds a row with a cell for each column. In a column with numbers, every cell is aligned like a number.
    ///
    /// - Parameter check: the check box of the row. Either all rows have one, or none has.
    mutating func add(_ cells: [Cell], check: CheckBox? = nil) {
        var cells = cells
        for (index, column) in columns.enumerated() where column.isNumber && index < cells.count {
            cells[index].isNumber = true
        }
        rows.append(Row(check: check, cells: cells))
        isEmpty = false
        hasChecks = check != nil
    }
}

/// Names with values. The partial `facts` shows them as a definition list.
struct Facts: Sendable {
    struct Fact: Sendable {
        let name: String
        let value: Cell
    }

    private(set) var facts: [Fact] = []

    mutating func add(_ name: String, _ value: Cell) { facts.append(Fact(name: name, value: value)) }
}

/// A form with one button. The partial `form` shows it.
///
/// A form with further fields has its own template, with the partial `form-token` in it.
struct FormView: Sendable {
    /// The address of the action.
    let action: String
    let button: String
    /// What the script asks before the form is sent.
    let question: String?
}
