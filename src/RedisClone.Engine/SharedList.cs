using System.Collections;

namespace RedisClone.Engine;

/// <summary>
/// A short list in the order of addition. Readers take no lock. Writers hold a lock of their own. An addition copies the list. A
/// removal empties a slot and takes no memory, because it belongs to cleaning up, which must also work when memory is exhausted.
/// </summary>
internal sealed class SharedList<T> : IEnumerable<T>
    where T : class
{
    // Race: a reader may see an item that is being removed, as with a list that is replaced as a whole.
    private T?[] _slots = [];
    private int _count;

    public int Count => Volatile.Read(ref _count);

    public bool Contains(T item) => Array.IndexOf(_slots, item) >= 0;

    public void Add(T item) => Insert(item, _count);

    /// <summary>Adds an item before the one at a position.</summary>
    public void Insert(T item, int position)
    {
        var items = new List<T>(_count + 1);
        foreach (T other in this) items.Add(other);
        items.Insert(position, item);
        Volatile.Write(ref _slots, items.ToArray());
        Volatile.Write(ref _count, items.Count);
    }

    /// <summary>Removes an item if it is there.</summary>
    public void Remove(T item)
    {
        int slot = Array.IndexOf(_slots, item);
        if (slot < 0) return;
        Volatile.Write(ref _slots[slot], null);
        Volatile.Write(ref _count, _count - 1);
        if (_count == 0) Volatile.Write(ref _slots, []);
    }

    public void Clear()
    {
        Volatile.Write(ref _slots, []);
        Volatile.Write(ref _count, 0);
    }

    public Enumerator GetEnumerator() => new(Volatile.Read(ref _slots));

    IEnumerator<T> IEnumerable<T>.GetEnumerator()
    {
        foreach (T item in this) yield return item;
    }

    IEnumerator IEnumerable.GetEnumerator() => ((IEnumerable<T>)this).GetEnumerator();

    public struct Enumerator(T?[] slots)
    {
        private int _next;

        public T Current { get; private set; } = null!;

        public bool MoveNext()
        {
            while (_next < slots.Length)
            {
                // A slot may become empty after it was compared, so it is read once.
                if (Volatile.Read(ref slots[_next++]) is not { } item) continue;
                Current = item;
                return true;
            }
            return false;
        }
    }
}
