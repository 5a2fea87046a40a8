using System.Globalization;
using System.Text;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.State;

/// <summary>
/// The cluster in the form of Redis's nodes.conf: a line for each node and a line of variables. The variable removable-slots is not
/// one of Redis's, which skips it.
/// </summary>
internal static class NodesText
{
    public static string Format(ClusterState state, bool tls)
    {
        var text = new StringBuilder();
        foreach (ClusterNode node in state.All)
        {
            if (node.IsInHandshake) continue;
            NodeLine.Append(text, state, node, tls, inFile: true);
            text.Append('\n');
        }
        text.Append(CultureInfo.InvariantCulture, $"vars currentEpoch {state.CurrentEpoch} lastVoteEpoch {state.LastVoteEpoch}");
        if (state.Removable.Count > 0) text.Append(" removable-slots ").Append(state.Removable.ToText(','));
        return text.Append('\n').ToString();
    }

    /// <summary>Reads the text of a file. Throws <see cref="InvalidDataException"/> with the line and the reason.</summary>
    public static ClusterState Parse(string text, bool tls, long now)
    {
        string[] lines = text.Split('\n');
        // The last line ends like all others. A file that was cut has an incomplete last line.
        if (lines[^1].Length > 0) throw Damaged(lines.Length, "the end of the line is missing");
        var reader = new Reader(tls, now);
        for (int i = 0; i < lines.Length; i++)
        {
            try
            {
                reader.Take(lines[i].TrimEnd('\r'));
            }
            catch (FormatException reason)
            {
                throw Damaged(i + 1, reason.Message);
            }
        }
        return reader.End() ?? throw Damaged(lines.Length, reader.Missing);
    }

    private static InvalidDataException Damaged(int line, string reason) =>
        new(string.Create(CultureInfo.InvariantCulture, $"line {line}: {reason}"));

    private sealed class Reader(bool tls, long now)
    {
        private readonly Dictionary<string, ClusterNode> _nodes = [];
        private readonly HashSet<string> _described = [];
        private readonly ClusterNode?[] _owners = new ClusterNode?[KeySlot.Count];
        private readonly List<(int Slot, ClusterNode Node, bool IsImport)> _open = [];
        private ClusterNode? _myself;
        private readonly SlotSet _removable = new();
        private ulong _currentEpoch, _lastVoteEpoch;
        private bool _hasEpochs;

        public string Missing { get; private set; } = "";

        public void Take(string line)
        {
            if (line.Length == 0) return;
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (words.Length == 0) throw new FormatException("the line has only spaces");
            if (words[0] == "vars") TakeVariables(words);
            else TakeNode(words);
        }

        public ClusterState? End()
        {
            string? undescribed = _nodes.Keys.FirstOrDefault(name => !_described.Contains(name));
            Missing = _myself is null ? "no node is marked as myself"
                : !_hasEpochs ? "the line with the epochs is missing"
                : undescribed is not null ? $"node {undescribed} has no line" : "";
            if (Missing.Length > 0) return null;
            var state = new ClusterState(_myself!) { CurrentEpoch = _currentEpoch, LastVoteEpoch = _lastVoteEpoch };
            foreach (ClusterNode node in _nodes.Values)
            {
                state.Add(node);
                if (node.Primary is { } primary) node.ShardId = primary.ShardId;
            }
            for (int slot = 0; slot < KeySlot.Count; slot++)
                if (_owners[slot] is { } owner) state.Assign(slot, owner);
            foreach ((int slot, ClusterNode node, bool isImport) in _open) (isImport ? state.Importing : state.Migrating)[slot] = node;
            state.Removable.UnionWith(_removable);
            state.CurrentEpoch = Math.Max(state.CurrentEpoch, state.HighestEpoch());
            return state;
        }

        private void TakeVariables(string[] words)
        {
            if (words.Length % 2 == 0) throw new FormatException("a variable has no value");
            for (int i = 1; i < words.Length; i += 2)
            {
                if (words[i] == "currentEpoch") _currentEpoch = Epoch(words[i + 1]);
                else if (words[i] == "lastVoteEpoch") _lastVoteEpoch = Epoch(words[i + 1]);
                else if (words[i] == "removable-slots")
                    foreach (string range in words[i + 1].Split(',')) TakeRange(range, slot => _removable.Add(slot));
            }
            _hasEpochs = true;
        }

        private void TakeNode(string[] words)
        {
            if (words.Length < 8) throw new FormatException("a node needs at least eight fields");
            ClusterNode node = Node(words[0]);
            if (!_described.Add(node.Name)) throw new FormatException($"node {node.Name} has two lines");
            bool hasShard = TakeAddress(node, words[1]);
            node.Flags = NodeFlagNames.Parse(words[2]) ?? throw new FormatException($"unknown flags '{words[2]}'");
            if (node.IsMyself && _myself is not null) throw new FormatException("two nodes are marked as myself");
            if (node.IsMyself) _myself = node;
            if (node.IsFailed) node.FailedAt = now;
            if (words[3] != "-")
            {
                ClusterNode primary = Node(words[3]);
                if (primary == node) throw new FormatException("a node is its own master");
                string shard = node.ShardId;
                ClusterState.Attach(node, primary);
                // The line of the primary may follow, so a replica with its own shard decides for both.
                if (hasShard) primary.ShardId = node.ShardId = shard;
            }
            if (Epoch(words[4]) > 0) node.PingSent = now;
            if (Epoch(words[5]) > 0) node.PongReceived = now;
            ulong epoch = Epoch(words[6]);
            if (!node.IsReplica || node.Primary is null) node.ConfigEpoch = epoch;
            foreach (string slots in words.AsSpan(8)) TakeSlots(node, slots);
        }

        /// <summary>Takes ip:port@busport,hostname,name=value…; true if the shard is among the values.</summary>
        private bool TakeAddress(ClusterNode node, string text)
        {
            string[] parts = text.Split(',');
            int colon = parts[0].LastIndexOf(':');
            if (colon < 0) throw new FormatException($"'{parts[0]}' is no address");
            string[] ports = parts[0][(colon + 1)..].Split('@');
            node.Ip = parts[0][..colon];
            int port = Port(ports[0]);
            if (tls) node.TlsPort = port;
            else node.Port = port;
            node.BusPort = ports.Length > 1 ? Port(ports[1]) : port + Configuration.ServerConfig.BusPortDistance;
            node.HostName = parts.Length > 1 ? parts[1] : "";
            bool hasShard = false;
            foreach (string field in parts.AsSpan(Math.Min(2, parts.Length)))
            {
                string[] pair = field.Split('=');
                if (pair.Length != 2) throw new FormatException($"'{field}' is not name=value");
                switch (pair[0])
                {
                    case "tcp-port": node.Port = Port(pair[1]); break;
                    case "tls-port": node.TlsPort = Port(pair[1]); break;
                    case "nodename": node.HumanName = pair[1]; break;
                    case "shard-id" when NodeId.IsValid(pair[1]):
                        node.ShardId = pair[1];
                        hasShard = true;
                        break;
                    default: throw new FormatException($"unknown or invalid field '{field}'");
                }
            }
            return hasShard;
        }

        private void TakeSlots(ClusterNode node, string text)
        {
            if (text[0] == '[')
            {
                TakeOpenSlot(node, text);
                return;
            }
            TakeRange(text, slot =>
            {
                if (_owners[slot] is not null) throw new FormatException($"slot {slot} has two owners");
                _owners[slot] = node;
            });
        }

        private static void TakeRange(string text, Action<int> take)
        {
            string[] ends = text.Split('-');
            int first = Slot(ends[0]), last = ends.Length == 1 ? first : Slot(ends[1]);
            if (ends.Length > 2 || last < first) throw new FormatException($"'{text}' is no range of slots");
            for (int slot = first; slot <= last; slot++) take(slot);
        }

        /// <summary>A slot that this node migrates or imports: [slot->-node] or [slot-&lt;-node].</summary>
        private void TakeOpenSlot(ClusterNode node, string text)
        {
            int dash = text.IndexOf('-');
            if (!node.IsMyself || dash < 0 || text.Length != dash + 3 + NodeId.Length + 1 || text[^1] != ']' || text[dash + 2] != '-'
                || text[dash + 1] is not ('>' or '<')) throw new FormatException($"'{text}' is no open slot");
            _open.Add((Slot(text[1..dash]), Node(text[(dash + 3)..^1]), text[dash + 1] == '<'));
        }

        private ClusterNode Node(string name)
        {
            if (!NodeId.IsValid(name)) throw new FormatException($"'{name}' is no name of a node");
            if (!_nodes.TryGetValue(name, out ClusterNode? node)) _nodes.Add(name, node = new ClusterNode(name, NodeFlags.None, now));
            return node;
        }

        private static ulong Epoch(string word) => ulong.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out ulong number)
            ? number : throw new FormatException($"'{word}' is no number");

        private static int Port(string word) => Epoch(word) is <= ushort.MaxValue and ulong port
            ? (int)port : throw new FormatException($"'{word}' is no port");

        private static int Slot(string word) => Epoch(word) is < KeySlot.Count and ulong slot
            ? (int)slot : throw new FormatException($"'{word}' is no slot");
    }
}
