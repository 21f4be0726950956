import StoreModels

/// The generator of random tests. ``Dice/seed`` is that of the environment variable `STRATA_SEED`, or a new one.
typealias SeededGenerator = Dice
