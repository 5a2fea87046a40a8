using System.Runtime.InteropServices;

namespace RedisClone.Transport.EventLoop;

/// <summary>A part of a pooled, pinned array that waits to be sent.</summary>
internal struct OutputChunk(byte[] buffer, int count)
{
    public readonly byte[] Buffer = buffer;
    public int Start;
    public int Count = count;

    /// <summary>The address of the bytes. It stays valid because the pool pins every array.</summary>
    public readonly nint PinnedAddress => Marshal.UnsafeAddrOfPinnedArrayElement(Buffer, Start);

    public readonly int Room => Buffer.Length - Start - Count;

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Buffer.AsSpan(Start + Count));
        Count += bytes.Length;
    }
}

/// <summary>
/// A queue of chunks in one array, so that one call can send several. An empty queue may keep a short array and no chunks.
/// </summary>
internal struct OutputChunks
{
    private OutputChunk[]? _items;
    private int _head;
    private int _tail;
    private long _room;

    public readonly bool IsEmpty => _head == _tail;

    /// <summary>Bytes of the arrays of all chunks. Any thread may read it.</summary>
    public readonly long Room => Volatile.Read(in _room);

    public readonly Span<OutputChunk> Items => _items.AsSpan(_head, _tail - _head);

    public readonly ref OutputChunk Last => ref _items![_tail - 1];

    public void Add(OutputChunk chunk)
    {
        EnsureRoom(1);
        _items![_tail++] = chunk;
        _room += chunk.Buffer.Length;
    }

    /// <summary>Makes room for more chunks, so that adding them cannot fail. If this call fails, nothing has changed.</summary>
    public void EnsureRoom(int chunks)
    {
        _items ??= new OutputChunk[Math.Max(2, chunks)];
        if (_items.Length - _tail < chunks) MakeRoom(chunks);
    }

    /// <summary>Drops the first <paramref name="bytes"/> bytes and returns the chunks that they emptied.</summary>
    public void Drop(long bytes, Loop loop)
    {
        while (bytes > 0)
        {
            ref OutputChunk first = ref _items![_head];
            if (bytes < first.Count)
            {
                first.Start += (int)bytes;
                first.Count -= (int)bytes;
                return;
            }
            bytes -= first.Count;
            _room -= first.Buffer.Length;
            loop.Return(first.Buffer);
            first = default;
            _head++;
        }
        if (IsEmpty) Reset();
    }

    /// <summary>Drops all chunks and returns their buffers to the pool.</summary>
    public void Clear(Loop loop)
    {
        foreach (ref OutputChunk chunk in Items) loop.Return(chunk.Buffer, ofMany: true);
        Forget();
    }

    /// <summary>Empties the queue without returning the buffers, because the chunks have another owner now.</summary>
    public void Forget()
    {
        Items.Clear();
        Reset();
    }

    /// <summary>
    /// A long array served one burst and is released. A short one is kept, so that steady traffic does not allocate.
    /// </summary>
    private void Reset()
    {
        _head = _tail = 0;
        _room = 0;
        if (_items?.Length > 8) _items = null;
    }

    private void MakeRoom(int chunks)
    {
        OutputChunk[] items = _items!;
        int count = _tail - _head;
        if (count > items.Length / 2 || count + chunks > items.Length) _items = new OutputChunk[Math.Max(items.Length * 2, count + chunks)];
        Array.Copy(items, _head, _items!, 0, count);
        if (ReferenceEquals(items, _items)) Array.Clear(items, count, _tail - count);
        _head = 0;
        _tail = count;
    }
}
