import Strata

/// A promise that a home has broken.
public struct HomeFailure: Error, CustomStringConvertible {
    public let description: String
}

/// Throws a ``HomeFailure`` unless the condition is true.
func expect(
    _ condition: Bool,
    _ message: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) throws {
    if !condition { throw HomeFailure(description: "\(message()) (\(file):\(line))") }
}

/// Throws a ``HomeFailure`` unless both values are equal.
func expect<Value: Equatable>(
    _ subject: String,
    is found: Value,
    _ expected: Value,
    file: StaticString = #fileID,
    line: UInt = #line
) throws {
    try expect(found == expected, "\(subject): found \(found), expected \(expected)", file: file, line: line)
}

/// Throws a ``HomeFailure`` unless the body throws an error with this code.
func expect(
    _ code: StrataError.Code,
    from subject: String,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ body: () throws -> Void
) throws {
    do { try body() } catch let error as StrataError {
        return try expect(error.code == code, "\(subject) throws \(error), not \(code)", file: file, line: line)
    }
    throw HomeFailure(description: "\(subject) throws no error (\(file):\(line))")
}
