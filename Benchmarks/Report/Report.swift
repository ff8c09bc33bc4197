/// The document that `--json` writes.
package struct Report: Codable, Sendable {
    package let machine: MachineDescription
    /// Whether samples were fewer and shorter; `nil` in the reports of earlier versions.
    package let quick: Bool?
    package let results: [Measurement]
    package let skipped: [Skip]

    package init(machine: MachineDescription, quick: Bool?, results: [Measurement], skipped: [Skip]) {
        self.machine = machine
        self.quick = quick
        self.results = results
        self.skipped = skipped
    }
}

/// One figure, with its peer's if there is one.
package struct Measurement: Codable, Sendable {
    package let name: String
    package let peer: String?
    package let peerVersion: String?
    package let unit: String
    package let ours: Distribution
    package let theirs: Distribution?
    /// Their median / our median: above 1 we are faster.
    package let ratio: Double?
    package let samples: Int
    package let note: String?

    package init(
        name: String, peer: String? = nil, peerVersion: String? = nil, unit: String, ours: Distribution,
        theirs: Distribution? = nil, samples: Int, note: String?
    ) {
        self.name = name
        self.peer = peer
        self.peerVersion = peerVersion
        self.unit = unit
        self.ours = ours
        self.theirs = theirs
        ratio = theirs.map { $0.median / ours.median }
        self.samples = samples
        self.note = note
    }

    /// Absent values are written as null, so that every result has every field.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(peer, forKey: .peer)
        try container.encode(peerVersion, forKey: .peerVersion)
        try container.encode(unit, forKey: .unit)
        try container.encode(ours, forKey: .ours)
        try container.encode(theirs, forKey: .theirs)
        try container.encode(ratio, forKey: .ratio)
        try container.encode(samples, forKey: .samples)
        try container.encode(note, forKey: .note)
    }
}

/// A figure that is missing.
package struct Skip: Codable, Sendable {
    package let name: String
    package let peer: String?
    package let reason: String

    package init(name: String, peer: String?, reason: String) {
        self.name = name
        self.peer = peer
        self.reason = reason
    }

    /// An absent peer is written as null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(peer, forKey: .peer)
        try container.encode(reason, forKey: .reason)
    }
}

/// The median, minimum and maximum of the samples.
package struct Distribution: Codable, Sendable {
    package let median: Double
    package let min: Double
    package let max: Double

    /// Summarises at least one sample.
    package init(_ samples: [Double]) {
        let sorted = samples.sorted()
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        min = sorted[0]
        max = sorted[sorted.count - 1]
    }
}
