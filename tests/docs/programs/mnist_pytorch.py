"""The task of docs/start/from-pytorch.md in PyTorch, which the page quotes."""
import torch
from torch import nn
from torchvision import datasets, transforms

training = datasets.MNIST("data", train=True, download=True, transform=transforms.ToTensor())
test = datasets.MNIST("data", train=False, download=True, transform=transforms.ToTensor())
loader = torch.utils.data.DataLoader(training, batch_size=128, shuffle=True)
test_loader = torch.utils.data.DataLoader(test, batch_size=500)

model = nn.Sequential(
    nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10))

optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_of = nn.CrossEntropyLoss()
for epoch in range(2):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss_of(model(images), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in test_loader)
    print(f"test accuracy {right / len(test):.4f}")

torch.save(model.state_dict(), "digits.pt")
