/// An error with which a program's tests end an attempt as if its process had died: the handler's outcome is not
/// written, and the crash is counted.
package struct AttemptCrash: Error {
    /// Creates the error.
    package init() {}
}
