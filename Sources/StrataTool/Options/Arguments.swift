import ArgumentParser
import StrataInspection

// Values of options, which the tool shares with the console.

extension TimeSpan: ExpressibleByArgument {}

extension ConcurrencyLimit: ExpressibleByArgument {}

extension RateLimitValue: ExpressibleByArgument {}
